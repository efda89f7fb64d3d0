package booking

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/httpserver"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

// post sends one booking with headers ("Name: value").
func (r *rig) post(ctx context.Context, seat int, headers ...string) *httptest.ResponseRecorder {
	body := fmt.Sprintf(`{"seat":%d,"customer":"olena","amount":450}`, seat)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/bookings", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w
}

func (r *rig) refused(code int, kind string, headers ...string) {
	r.t.Helper()
	w := r.post(r.t.Context(), 9, headers...)
	p := decode[httpserver.Problem](r.t, w)
	if w.Code != code || p.Type != kind {
		r.t.Errorf("got %d %s, want %d %s", w.Code, w.Body, code, kind)
	}
	if n, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || n < 1 || n > 60 {
		r.t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
}

// TestTheLesson is the staged exercise: two active, three waiting, then
// refusals, which leave nothing anywhere.
func TestTheLesson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 2, Waiting: 3, Overdue: 2}
		r := newRig(t, cfg)
		r.run()
		var ids []uuid.UUID
		for i := range 5 {
			ids = append(ids, r.book(strconv.Itoa(i+1)).ID)
			synctest.Wait()
			s := r.door.Stats()
			if s.Active != min(i+1, 2) || s.Waiting != max(0, i-1) {
				t.Fatalf("after %d bookings: %+v", i+1, s)
			}
		}
		r.refused(429, TypeBusy)
		r.refused(429, TypeBusy)
		if w := r.do(http.MethodPost, "/lab/drain", ""); w.Code != http.StatusNoContent {
			t.Fatal(w.Code)
		}
		r.refused(503, TypeDraining)
		r.do(http.MethodPost, "/lab/resume", "")
		r.server.Stop()
		r.refused(503, TypeStopped)
		r.server.Start()
		r.refused(429, TypeBusy)
		time.Sleep(11 * time.Second) // nothing finishes: stopped is not busy
		r.refused(503, TypeStopped)
		for i, id := range ids {
			synctest.Wait()
			if want := min(i+2, 5); r.created() != want {
				t.Fatalf("%d started, want %d", r.created(), want)
			}
			r.publish(tickets.PaymentSucceeded{BookingID: id})
		}
		synctest.Wait()
		page := decode[pageJSON](t, r.do(http.MethodGet, "/bookings", ""))
		stats := decode[Stats](t, r.do(http.MethodGet, "/stats", ""))
		if len(page.Bookings) != 5 || stats.Confirmed != 5 || stats.Throttled != 3 || stats.Unavailable != 3 || stats.MaxActive != 2 {
			t.Errorf("%d bookings, %+v", len(page.Bookings), stats)
		}
	})
}

// With the broker down and room left the answer is still 202.
func TestRoomIsRoomWithoutABroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 2, Waiting: 3, Overdue: 2}
		r := newRig(t, cfg)
		r.run()
		r.server.Stop()
		for i := range 5 {
			r.book(strconv.Itoa(i + 1))
		}
		r.refused(503, TypeStopped)
		r.server.Start()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if n := r.created(); n != 2 {
			t.Errorf("%d started", n)
		}
	})
}

func TestOneKeyIsOneBooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 1, Waiting: 0, Overdue: 1}
		r := newRig(t, cfg)
		r.run()
		var mu sync.Mutex
		ids, fresh := map[uuid.UUID]int{}, 0
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				w := r.post(t.Context(), 5, "Idempotency-Key: k-1")
				mu.Lock()
				defer mu.Unlock()
				if w.Code != http.StatusAccepted {
					t.Errorf("%d %s", w.Code, w.Body)
					return
				}
				ids[decode[bookingJSON](t, w).ID]++
				if w.Header().Get("Idempotent-Replayed") == "" {
					fresh++
				}
			})
		}
		clients.Wait()
		if len(ids) != 1 || fresh != 1 {
			t.Errorf("%d bookings, %d of them fresh", len(ids), fresh)
		}
		// The door is full, and then draining: the same key still gets its booking.
		r.refused(429, TypeBusy)
		if w := r.post(t.Context(), 5, "Idempotency-Key: k-1"); w.Code != 202 || w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("full: %d %s", w.Code, w.Body)
		}
		r.Drain()
		if w := r.post(t.Context(), 5, "Idempotency-Key: k-1"); w.Code != 202 {
			t.Errorf("draining: %d %s", w.Code, w.Body)
		}
		expectProblem(t, "another seat", r.post(t.Context(), 6, "Idempotency-Key: k-1"), 422, []string{"Idempotency-Key"})
		if n := len(decode[pageJSON](t, r.do(http.MethodGet, "/bookings", "")).Bookings); n != 1 {
			t.Errorf("%d bookings", n)
		}
	})
}

func TestBadHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		for header, field := range map[string]string{
			"Idempotency-Key: ":                              "Idempotency-Key",
			"Idempotency-Key: a b":                           "Idempotency-Key",
			"Idempotency-Key: ключ":                          "Idempotency-Key",
			"Idempotency-Key: " + strings.Repeat("k", 10240): "Idempotency-Key",
			"Prefer: wait=abc":                               "Prefer",
			"Prefer: wait=-1":                                "Prefer",
			"Prefer: wait=1000000000":                        "Prefer",
			"Prefer: wait=5.5":                               "Prefer",
		} {
			expectProblem(t, header, r.post(t.Context(), 5, header), 400, []string{field})
		}
		for _, wait := range []string{"abc", "-1s", "61s", "1000000000", "1h"} {
			expectProblem(t, wait, r.do(http.MethodGet, "/bookings/"+uuid.NewString()+"?wait="+wait, ""), 400, []string{"wait"})
		}
		if w := r.post(t.Context(), 5, "Prefer: respond-async, handling=lenient"); w.Code != 202 {
			t.Errorf("preferences that we do not know: %d %s", w.Code, w.Body)
		}
		if s := r.door.Stats(); s.Accepted != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// Waiting clients are woken by this replica's own commits at once, and by one
// shared look for those of others.
func TestClientsWaitForTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		other := restart(t, testConfig(), r)
		start := time.Now()
		answers := make(chan *httptest.ResponseRecorder, 1)
		go func() { answers <- r.post(t.Context(), 5, "Prefer: wait=30") }()
		synctest.Wait()
		id := r.onlyPending()
		r.publish(tickets.SeatRejected{BookingID: id, Seat: 5, Reason: "taken"})
		w := <-answers
		if b := decode[bookingJSON](t, w); w.Code != 202 || b.Status != Rejected || b.Reason != "taken" || time.Since(start) != 0 {
			t.Errorf("after %s: %d %s", time.Since(start), w.Code, w.Body)
		}
		if w.Header().Get("Preference-Applied") != "wait=30" {
			t.Errorf("%v", w.Header())
		}

		b := r.book("6")
		for _, wait := range []string{"30s", "30"} {
			go func() { answers <- r.do(http.MethodGet, "/bookings/"+b.ID.String()+"?wait="+wait, "") }()
		}
		synctest.Wait()
		if _, err := other.store.Settle(t.Context(), row.Outcome{ID: b.ID, Status: Confirmed}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if w := <-answers; decode[bookingJSON](t, w).Status != Confirmed || time.Since(start) > time.Second {
				t.Errorf("after %s: %d %s", time.Since(start), w.Code, w.Body)
			}
		}

		start = time.Now()
		if w := r.post(t.Context(), 7, "Prefer: wait=2"); decode[bookingJSON](t, w).Status != Pending || time.Since(start) != 2*time.Second {
			t.Errorf("after %s: %d %s", time.Since(start), w.Code, w.Body)
		}
		if n := len(r.waiters.ids()); n != 0 || r.waiters.count != 0 {
			t.Errorf("%d waiters are left, counted %d", n, r.waiters.count)
		}
	})
}

func (r *rig) onlyPending() uuid.UUID {
	r.t.Helper()
	page := decode[pageJSON](r.t, r.do(http.MethodGet, "/bookings?status=Pending", ""))
	if len(page.Bookings) != 1 {
		r.t.Fatalf("%d pending bookings", len(page.Bookings))
	}
	return page.Bookings[0].ID
}

// A client that leaves is no reason to lose a place or a booking.
func TestClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if w := r.post(gone, 5); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d", w.Code)
		}
		if s := r.door.Stats(); s.Active != 0 {
			t.Errorf("a client that had left took a place: %+v", s)
		}
		waiting, leave := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.post(waiting, 5, "Prefer: wait=60") }()
		synctest.Wait()
		leave()
		<-done
		if s := r.door.Stats(); s.Active != 1 || r.waiters.count != 0 {
			t.Errorf("%+v, %d waiters", s, r.waiters.count)
		}
	})
}

// Draining answers those who wait, and the sagas go on.
func TestDrainLetsWaitingClientsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		answers := make(chan *httptest.ResponseRecorder, 1)
		go func() { answers <- r.post(t.Context(), 5, "Prefer: wait=60") }()
		synctest.Wait()
		r.Drain()
		if w := <-answers; w.Code != 202 || decode[bookingJSON](t, w).Status != Pending {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		r.refused(503, TypeDraining)
		r.publish(tickets.PaymentSucceeded{BookingID: r.onlyPending()})
		synctest.Wait()
		if s := r.door.Stats(); s.Active != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// What waited at a replica that is gone is taken over, in order, and started once.
func TestAReplicaThatIsGoneLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Limits = Limits{Active: 1, Waiting: 4, Overdue: 1}
		cfg.Instance = "gone"
		r := newRig(t, cfg)
		stop := r.run()
		var ids []uuid.UUID
		for i := range 4 {
			ids = append(ids, r.book(strconv.Itoa(i+1)).ID)
		}
		time.Sleep(10 * time.Second)
		stop() // for good
		cfg.Instance, cfg.Limits = "other", Limits{Active: 8, Waiting: 8, Overdue: 8}
		other := restart(t, cfg, r)
		other.run()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := other.created(); n < 4 {
			t.Fatalf("%d BookingCreated: not each of the 4 bookings was started", n)
		}
		for _, id := range ids {
			other.publish(tickets.PaymentSucceeded{BookingID: id})
		}
		synctest.Wait()
		page := decode[pageJSON](t, other.do(http.MethodGet, "/bookings?status=Confirmed", ""))
		if got := len(page.Bookings); got != 4 {
			t.Errorf("%d confirmed", got)
		}
		if s := other.door.Stats(); s.Active+s.Waiting+s.Overdue != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		b := r.book("5")
		expectProblem(t, "reset of a busy service", r.do(http.MethodPost, "/lab/reset", ""), 409, nil)
		r.do(http.MethodPost, "/lab/drain", "")
		expectProblem(t, "reset beside a saga", r.do(http.MethodPost, "/lab/reset", ""), 409, nil)
		r.publish(tickets.PaymentSucceeded{BookingID: b.ID})
		synctest.Wait()
		if w := r.do(http.MethodPost, "/lab/reset", ""); w.Code != http.StatusNoContent {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if n := len(decode[pageJSON](t, r.do(http.MethodGet, "/bookings", "")).Bookings); n != 0 {
			t.Errorf("%d bookings are left", n)
		}
		cfg := testConfig()
		cfg.Lab = false
		for _, path := range []string{"/lab/drain", "/lab/resume", "/lab/reset"} {
			expectProblem(t, path+" without the lab", restart(t, cfg, r).do(http.MethodPost, path, ""), 404, nil)
		}
	})
}
