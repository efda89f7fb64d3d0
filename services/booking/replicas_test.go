package booking

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/tickets"
)

func TestResetByAnotherReplicaFreesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Instance = "a"
		a := newRig(t, cfg)
		a.run()
		cfg.Instance = "b"
		b := restart(t, cfg, a)
		b.run()
		x := a.book("1")
		b.do("POST", "/lab/drain", "")
		if w := b.do("POST", "/lab/reset", ""); w.Code != 204 {
			t.Fatal(w.Code)
		}
		a.publish(tickets.PaymentSucceeded{BookingID: x.ID})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := a.door.Stats(); s.Active+s.Overdue != 0 {
			t.Errorf("slot lost for good: %+v", s)
		}
	})
}

func TestPostAndGetAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		time.Sleep(123456789 * time.Nanosecond)
		b := r.book("1")
		if got := r.get(b.ID); !got.CreatedAt.Equal(b.CreatedAt) {
			t.Errorf("POST says %s, GET %s", b.CreatedAt, got.CreatedAt)
		}
	})
}

func TestStatsWithoutDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		f.set(func(string) error { return errors.New("down") }, nil)
		if w := r.do("GET", "/stats", ""); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w := r.post(t.Context(), 5); w.Code != 504 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
