package booking

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/httpserver"
)

// answered is one answer, and after how long it came.
type answered struct {
	*httptest.ResponseRecorder
	after time.Duration
}

// postAll posts a booking of each header's, all at once.
func (r *rig) postAll(headers ...string) []answered {
	answers := make([]answered, len(headers))
	var clients sync.WaitGroup
	began := time.Now()
	for i, h := range headers {
		clients.Go(func() {
			w := r.post(r.t.Context(), i+1, h)
			answers[i] = answered{w, time.Since(began)}
		})
		synctest.Wait()
	}
	clients.Wait()
	return answers
}

func keyed(n int) []string {
	headers := make([]string, n)
	for i := range headers {
		headers[i] = fmt.Sprintf("Idempotency-Key: k%d", i)
	}
	return headers
}

// While the database answers nothing, every client is answered within 10 s: 504
// if its booking may be stored, 503 if it surely is not.
func TestAHangingDatabaseIsAnsweredInTime(t *testing.T) {
	for name, hanging := range map[string][]string{
		"commits": {"INSERT INTO bookings", "SELECT bookings.id FROM bookings JOIN"},
		"all":     {"bookings"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig())
				f := makeFlaky(t, r)
				r.run()
				f.hang(hanging...)
				count := map[int]int{}
				for i, w := range r.postAll(append(keyed(8), "X-None: 1", "Prefer: wait=20")...) {
					count[w.Code]++
					if w.after > 10*time.Second {
						t.Errorf("booking %d was answered after %s", i, w.after)
					}
					problem := decode[httpserver.Problem](t, w.ResponseRecorder)
					if w.Code == 504 && (problem.Type != TypeUnknown || !strings.Contains(problem.Detail, "It may have been booked")) {
						t.Errorf("%+v", problem)
					}
				}
				if count[503]+count[504] != 10 || count[504] == 0 {
					t.Errorf("answers %v", count)
				}
			})
		})
	}
}

// Who prefers to wait, and is accepted, is answered in time as well.
func TestAHangingLookupOfTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		f.hang("FROM bookings WHERE id = $1")
		began := time.Now()
		go func() { // another replica commits the outcome
			time.Sleep(19 * time.Second)
			r.waiters.wake(r.door.Held()[0], nil)
		}()
		if w := r.post(t.Context(), 1, "Prefer: wait=20"); w.Code != 202 || time.Since(began) > 30*time.Second {
			t.Errorf("%d after %s: %s", w.Code, time.Since(began), w.Body)
		}
	})
}

func TestAnUnknownOutcomeWithAKeyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		release := f.hang("INSERT INTO bookings", "SELECT bookings.id FROM bookings JOIN")
		w := r.postAll("Idempotency-Key: k")[0]
		if w.Code != 504 || !strings.Contains(w.Body.String(), "with the same Idempotency-Key") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		release()
		time.Sleep(3 * time.Second)
		again := r.post(t.Context(), 1, "Idempotency-Key: k")
		if again.Code != 202 || again.Header().Get(headerReplayed) != "true" {
			t.Fatalf("the same key again: %d %s", again.Code, again.Body)
		}
		if got := r.created(); got != 1 {
			t.Errorf("published %d", got)
		}
	})
}

func TestAnUnknownOutcomeWithoutAKeyIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		release := f.hang("INSERT INTO bookings", "SELECT bookings.id FROM bookings JOIN")
		w := r.postAll("X-None: 1")[0]
		if w.Code != 504 || !strings.Contains(w.Body.String(), "look for it in the bookings") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if s := r.door.Stats(); s.Active != 1 {
			t.Errorf("its place is not kept meanwhile: %+v", s)
		}
		release()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if page := decode[pageJSON](t, r.do("GET", "/bookings", "")); len(page.Bookings) != 0 || r.created() != 0 {
			t.Errorf("bookings %v, published %d", page.Bookings, r.created())
		}
		if s := r.door.Stats(); s.Active != 0 {
			t.Errorf("its place is not free: %+v", s)
		}
	})
}

// A refusal would say that nothing is booked with the key.
func TestAKeyInDoubtIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 1, Waiting: 0, Overdue: 1}
		r := newRig(t, cfg)
		f := makeFlaky(t, r)
		r.run()
		f.set(func(q string) error {
			if strings.Contains(q, "INSERT INTO bookings") || strings.Contains(q, "SELECT bookings.id FROM bookings JOIN") {
				return errDied // it is not there, and nobody knows
			}
			return nil
		}, nil)
		for range 2 {
			if w := r.post(t.Context(), 1, "Idempotency-Key: k"); w.Code != 504 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if w := r.post(t.Context(), 1, "Idempotency-Key: other"); w.Code != 429 {
			t.Errorf("another key: %d %s", w.Code, w.Body)
		}
	})
}

// A network that was cut may deliver an INSERT long after it was given up.
func TestAnInsertThatArrivesLateRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		f.set(func(q string) error {
			if strings.Contains(q, "INSERT INTO bookings") {
				return errDied
			}
			return nil
		}, nil)
		if w := r.post(t.Context(), 1, "Idempotency-Key: k"); w.Code != 504 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		f.set(nil, nil)
		time.Sleep(time.Minute) // it was looked up, was not there, and gave its place back
		late := newOrder(1)
		late.Key = "k"
		if _, err := r.store.Insert(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * heartbeat)
		synctest.Wait()
		if got := r.created(); got != 1 {
			t.Errorf("published %d", got)
		}
	})
}

// A service that is to stop does not keep its clients, nor who stops it.
func TestAHangingCommitIsAnsweredBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		f.hang("bookings")
		time.AfterFunc(time.Second, r.Drain)
		for i, w := range r.postAll("Idempotency-Key: k", "X-None: 1") {
			if w.Code != 504 || w.after > time.Second+drainAnswer {
				t.Errorf("booking %d: %d after %s", i, w.Code, w.after)
			}
		}
	})
}
