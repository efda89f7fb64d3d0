package booking

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/tickets"
)

// A's commit is unknown, A loses the database for more than the deadline, B redrives the row and it is Confirmed; A comes back and deletes it.
func TestAConfirmedBookingIsNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Instance = "a"
		a := newRig(t, cfg)
		f := makeFlaky(t, a)
		a.run()
		cfg.Instance = "b"
		b := restart(t, cfg, a)
		b.run()
		down := false
		f.set(func(string) error {
			if down {
				return errDied
			}
			return nil
		}, func(q string) error {
			if strings.Contains(q, "INSERT INTO bookings") {
				down = true
				return errDied
			}
			return nil
		})
		if w := a.post(t.Context(), 5); w.Code != 504 {
			t.Fatal(w.Code)
		}
		time.Sleep(2 * time.Minute)
		id := b.onlyPending()
		t.Log("BookingCreated published by B:", b.created())
		// the outcome happens to be delivered to B
		if _, err := b.paymentSucceeded(t.Context(), tickets.PaymentSucceeded{BookingID: id}); err != nil {
			t.Fatal(err)
		}
		t.Log("status now:", b.get(id).Status)
		f.set(nil, nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if w := b.do("GET", "/bookings/"+id.String(), ""); w.Code != 200 {
			t.Errorf("the Confirmed, charged booking is deleted: %d", w.Code)
		}
	})
}

func TestANewbornIsNotRobbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Instance = "a"
		a := newRig(t, cfg)
		a.run()
		time.Sleep(4 * time.Second)
		cfg.Instance, cfg.Limits = "b", Limits{Active: 1, Waiting: 4, Overdue: 1}
		b := restart(t, cfg, a)
		b.run()
		for _, seat := range []string{"1", "2", "3"} {
			b.book(seat)
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if s := a.door.Stats(); s.Active+s.Waiting > 0 {
			t.Errorf("a alive 1.5 s old replica is robbed: a has %d active, %d waiting; b still counts %d waiting", s.Active, s.Waiting, b.door.Stats().Waiting)
		}
	})
}

// The database hangs; keyed requests came; SIGTERM.
func TestStopWithHungDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		hold, err := r.db.Conn(t.Context()) // the pool's only connection: everybody else waits for it
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			go func() { _ = r.post(context.Background(), 5, "Idempotency-Key: "+uuid.NewString()) }()
		}
		time.Sleep(5 * time.Second) // all have their 503
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("Run returned %s after it was told to stop", took)
		}
		_ = hold.Close()
	})
}
