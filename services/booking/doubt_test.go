package booking

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

var errDied = errors.New("the connection died in COMMIT")

func TestAKeyOutlivesAnUnknownCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		f.set(nil, func(q string) error {
			if strings.Contains(q, "INSERT INTO bookings") {
				return errDied // committed, but nobody saw it
			}
			return nil
		})
		w := r.post(t.Context(), 5, "Idempotency-Key: k")
		t.Log("first:", w.Code, w.Body.String())
		f.set(nil, nil)
		w = r.post(t.Context(), 5, "Idempotency-Key: k")
		t.Log("retry:", w.Code, w.Header(), w.Body.String())
		if w.Code != 202 {
			t.Fatal("the retry was not accepted")
		}
		b := decode[bookingJSON](t, w)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if w := r.do("GET", "/bookings/"+b.ID.String(), ""); w.Code != 200 {
			t.Errorf("a booking that was answered 202 is gone: %d %s", w.Code, w.Body)
		}
	})
}

// A batch of two, one new and one whose key another replica has just used, is
// committed; the look at what is there fails, surely without having begun. The
// new one may be there all the same: its place must not be given back.
func TestSecondStatementFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		if w := r.post(t.Context(), 1, "Idempotency-Key: k"); w.Code != 202 {
			t.Fatal(w.Code)
		}
		release := f.hang("INSERT INTO bookings")
		var inserts sync.WaitGroup
		inserts.Go(func() { _, _ = r.store.Insert(t.Context(), newOrder(1)) }) // those that follow are one batch
		synctest.Wait()
		fresh, taken := newOrder(2), newOrder(3)
		taken.Key = "k"
		for _, o := range []row.Order{fresh, taken} {
			inserts.Go(func() {
				if _, err := r.store.Insert(t.Context(), o); err == nil || database.NotCommitted(err) {
					t.Errorf("seat %d: the row may be there, but the error is %v", o.Seat, err)
				}
			})
			synctest.Wait()
		}
		f.set(func(q string) error {
			if strings.Contains(q, "SELECT bookings.id FROM bookings JOIN") {
				return database.ErrNotBegun
			}
			return nil
		}, nil)
		release()
		inserts.Wait()
		if _, err := r.store.Get(t.Context(), fresh.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestAcceptedIsAnswered202(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		other := restart(t, testConfig(), r)
		answers := make(chan *httptest.ResponseRecorder, 1)
		go func() { answers <- r.post(t.Context(), 5, "Prefer: wait=30") }()
		synctest.Wait()
		id := r.onlyPending()
		if _, err := other.store.Settle(t.Context(), row.Outcome{ID: id, Status: Confirmed}); err != nil {
			t.Fatal(err)
		}
		f.set(func(q string) error {
			if strings.Contains(q, "FROM bookings WHERE id = $1") {
				return errors.New("the database went away")
			}
			return nil
		}, nil)
		w := <-answers
		if w.Code != 202 {
			t.Errorf("booking %s was accepted (and is Confirmed), answer: %d %s", id, w.Code, w.Body)
		}
	})
}

func TestTakeoverAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 1, Waiting: 4, Overdue: 1}
		cfg.Instance = "gone"
		r := newRig(t, cfg)
		stop := r.run()
		for i := range 3 {
			r.book([]string{"1", "2", "3"}[i])
		}
		stop()
		cfg.Instance, cfg.Limits = "other", Limits{Active: 8, Waiting: 8, Overdue: 8}
		other := restart(t, cfg, r)
		f := makeFlaky(t, other)
		lost := 0
		f.set(nil, func(q string) error {
			if strings.Contains(q, "UPDATE bookings SET instance") && lost < 1 {
				lost++
				return errDied
			}
			return nil
		})
		other.run()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		t.Log("lost:", lost, "created:", other.created(), other.door.Stats())
		page := decode[pageJSON](t, other.do("GET", "/bookings?status=Pending", ""))
		for _, b := range page.Bookings {
			var started, redrives int
			_ = other.db.QueryRow(`SELECT started_at>0, redrives FROM bookings WHERE id=$1`, b.ID).Scan(&started, &redrives)
			if started == 0 {
				t.Errorf("booking of seat %d was never started", b.Seat)
			}
		}
	})
}

func TestAbandonedLookupsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most int
		g := database.NewGroup(database.GroupConfig[string, int]{Commit: func(ctx context.Context, reqs []string) ([]int, error) {
			most += len(reqs)
			<-ctx.Done() // the database hangs
			return nil, ctx.Err()
		}})
		var wg sync.WaitGroup
		for range 20 { // 20 s of 500 requests a second with a key, each given up after store.KeyLookup
			for range 500 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), store.KeyLookup)
					defer cancel()
					_, _ = g.Do(ctx, uuid.NewString())
				})
			}
			time.Sleep(time.Second)
		}
		wg.Wait() // every client has its 503
		start := time.Now()
		g.Close()
		if time.Since(start) > 10*time.Second {
			t.Errorf("after every caller had gone, the group worked for another %s on abandoned lookups", time.Since(start))
		}
	})
}

func TestDrainBeforeRecoverIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		block := make(chan struct{})
		f.set(func(q string) error {
			if strings.Contains(q, "ORDER BY id") && strings.Contains(q, "instance = $1") {
				<-block
			}
			return nil
		}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(time.Second)
		r.Drain() // SIGTERM
		close(block)
		synctest.Wait()
		if r.door.Stats().Accepting {
			t.Error("the door is open although the service was told to drain")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestStartWithoutBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.server.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(2 * time.Minute)
		w := r.do("POST", "/bookings", `{"seat":5,"customer":"olena","amount":450}`)
		if w.Code != 202 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
