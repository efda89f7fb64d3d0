package payments

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// do sends a POST, with a JSON body if it is not empty.
func (r replica) do(ctx context.Context, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w
}

// post sends a POST that must be answered 204.
func (r replica) post(t *testing.T, path, body string) {
	t.Helper()
	if w := r.do(t.Context(), path, body); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Fatalf("POST %s %s: %d %s", path, body, w.Code, w.Body)
	}
}

// look makes the replica see what others have changed.
func (r replica) look(t *testing.T) {
	t.Helper()
	if err := r.bank.lab.look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// watched makes the replica look by itself, until the test ends.
func (r replica) watched(t *testing.T) replica {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	watching.Go(func() { r.bank.lab.watch(ctx) })
	t.Cleanup(func() { stop(); watching.Wait() })
	return r
}

const held = "a charge is held at the bank's gate"

// A gate that one replica was told to close holds the charges of all, but not
// the answers that are known. Opened at the other replica, it lets them go.
func TestGate(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		a, b := newLabReplica(t, url, plain()).watched(t), newLabReplica(t, url, plain()).watched(t)
		recorded, entered := newID(), newID()
		a.expect(t, seatReserved(recorded, affordable), succeeded(recorded))
		if _, err := a.bank.charge(t.Context(), entered, tooMuch); err != nil {
			t.Fatal(err)
		}
		a.post(t, "/lab/gate/close", "")
		b.logs.Expect(t, "gate=closed", 1)

		ids := make([]uuid.UUID, 40) // more than the bank charges at a time
		var charges sync.WaitGroup
		for i := range ids {
			ids[i] = newID()
			charges.Go(func() {
				[]replica{a, b}[i%2].expect(t, seatReserved(ids[i], affordable), succeeded(ids[i]))
			})
		}
		a.logs.Expect(t, held, 20)
		b.logs.Expect(t, held, 20)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, r := range []replica{a, b} {
			for _, known := range []uuid.UUID{recorded, entered} {
				if _, err := r.seatReserved(soon, seatReserved(known, affordable)); err != nil {
					t.Errorf("a known answer is held: %v", err)
				}
			}
		}
		for _, id := range ids {
			if e := a.entry(t, id); e != nil {
				t.Errorf("charged behind a closed gate: %+v", e)
			}
		}
		b.post(t, "/lab/gate/open", "")
		charges.Wait()
		for _, id := range ids {
			a.expectRow(t, id, Succeeded, 1)
		}
		a.expectRow(t, recorded, Succeeded, 1)
		b.expectRow(t, entered, Failed, 0)
	})
}

// answer is what comes of a delivery that is held until the bank answers.
func (r replica) answer(t *testing.T, e tickets.SeatReserved) (out messaging.Event, failures int) {
	t.Helper()
	for ; ; failures++ {
		events, err := r.seatReserved(t.Context(), e)
		if messaging.IsUnavailable(err) && t.Context().Err() == nil {
			continue
		}
		if err != nil || len(events) != 1 {
			t.Fatalf("%+v: %v, %v", e, events, err)
		}
		return events[0], failures
	}
}

// However often the bank fails to answer, the end is the same: no payment fails
// for it, and nothing is charged twice.
func TestInjectedFailures(t *testing.T) {
	for _, when := range []Stage{BeforeCharge, AfterCharge} {
		t.Run(string(when), func(t *testing.T) {
			onBoth(t, func(t *testing.T, url string) {
				bank := plain()
				bank.Random = rand.New(rand.NewPCG(3, 4)).Float64 // one charge at a time
				r := newLabReplica(t, url, bank)
				r.post(t, "/lab/bank", `{"failure":0.7,"when":"`+string(when)+`"}`)
				const n = 40
				all, most := 0, 0
				for i := range n {
					amount, want, status, charges := affordable, succeeded, Succeeded, 1
					if i%2 == 1 {
						amount, want, status, charges = tooMuch, failed, Failed, 0
					}
					id := newID()
					got, failures := r.answer(t, seatReserved(id, amount))
					if got != want(id) {
						t.Errorf("%v after %d failures: %+v", amount, failures, got)
					}
					r.expectRow(t, id, status, charges)
					all, most = all+failures, max(most, failures)
				}
				// Before the charge each try fails with 0.7, so 2.3 times a booking.
				// After it only the first one does: the next is answered from the ledger.
				low, high := 60, 140
				if when == AfterCharge {
					low, high = 20, n
				}
				if all < low || all > high || (most == 1) != (when == AfterCharge) {
					t.Errorf("%d failures of %d bookings, at most %d of one", all, n, most)
				}
			})
		})
	}
}

// What a request does not name stays, and a replica that starts later obeys.
func TestLabSettingsAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		for _, step := range []struct{ path, body, want string }{
			{"/lab/bank", `{}`, "open 0 before configured"},
			{"/lab/bank", `{"failure":0.25}`, "open 0.25 before configured"},
			{"/lab/bank", `{"when":"after","delay":"1.5s"}`, "open 0.25 after 1.5s"},
			{"/lab/gate/close", ``, "closed 0.25 after 1.5s"},
			{"/lab/gate/close", ``, "closed 0.25 after 1.5s"},
			{"/lab/bank", `{"failure":1,"when":"before","delay":"60s"}`, "closed 1 before 1m0s"},
			{"/lab/bank", `{"failure":0,"delay":"0s"}`, "closed 0 before 0s"},
			{"/lab/gate/open", ``, "open 0 before 0s"},
			{"/lab/reset", ``, "open 0 before configured"},
		} {
			r := newLabReplica(t, url, plain())
			r.post(t, step.path, step.body)
			for _, r := range []replica{r, newLabReplica(t, url, plain())} {
				if got := r.conditions(); got != step.want {
					t.Errorf("after %s %s: %s, want %s", step.path, step.body, got, step.want)
				}
			}
		}
	})
}

func TestReset(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r, id := newLabReplica(t, url, plain()), newID()
		r.expect(t, seatReserved(id, tooMuch), failed(id))
		r.post(t, "/lab/bank", `{"failure":1}`)
		r.post(t, "/lab/gate/close", "")
		r.post(t, "/lab/reset", "")
		r.expectGet(t, "/payments", `{"payments":[]}`)
		r.expect(t, seatReserved(id, affordable), succeeded(id)) // the bank has forgotten that it declined
		r.expectRow(t, id, Succeeded, 1)
	})
}

// expectProblem sends a POST that must be answered by a problem that names these fields.
func (r replica) expectProblem(t *testing.T, path, body string, status int, fields ...string) {
	t.Helper()
	w := r.do(t.Context(), path, body)
	var p struct {
		Status int
		Errors []struct{ Field string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("POST %s %s: %v: %s", path, body, err, w.Body)
	}
	named := make([]string, len(p.Errors))
	for i, e := range p.Errors {
		named[i] = e.Field
	}
	if w.Code != status || p.Status != status || strings.Join(named, ",") != strings.Join(fields, ",") {
		t.Errorf("POST %s %s: %d %s, want %d naming %v", path, body, w.Code, w.Body, status, fields)
	}
}

func TestLabBadInput(t *testing.T) {
	r := newLabReplica(t, "sqlite:", plain())
	r.post(t, "/lab/bank", `{"failure":0.5,"when":"after","delay":"1s"}`)
	for body, fields := range map[string][]string{
		`{"failure":1.01}`:                   {"failure"},
		`{"failure":-0.1}`:                   {"failure"},
		`{"failure":1e400}`:                  {"failure"},
		`{"failure":"0.3"}`:                  {"failure"},
		`{"failure":null}`:                   {"failure"},
		`{"failure":true}`:                   {"failure"},
		`{"failure":[0.3]}`:                  {"failure"},
		`{"failure":0.1,"failure":0.2}`:      {"failure"},
		`{"when":"during"}`:                  {"when"},
		`{"when":"Before"}`:                  {"when"},
		`{"when":""}`:                        {"when"},
		`{"when":null}`:                      {"when"},
		`{"when":1}`:                         {"when"},
		`{"delay":"60.001s"}`:                {"delay"},
		`{"delay":"-1ns"}`:                   {"delay"},
		`{"delay":"500"}`:                    {"delay"},
		`{"delay":""}`:                       {"delay"},
		`{"delay":500}`:                      {"delay"},
		`{"delay":null}`:                     {"delay"},
		`{"delay":"9999999999h"}`:            {"delay"},
		`{"failure":2,"when":3,"delay":"x"}`: {"failure", "when", "delay"},
		`{"failure":0,"Delay":"1s"}`:         {"Delay"},
		`{"gate":"closed"}`:                  {"gate"},
	} {
		r.expectProblem(t, "/lab/bank", body, http.StatusUnprocessableEntity, fields...)
	}
	for _, body := range []string{`[]`, `{`, `{} {}`, ` `, `null`} {
		r.expectProblem(t, "/lab/bank", body, http.StatusBadRequest)
	}
	r.expectProblem(t, "/lab/bank", ``, http.StatusUnsupportedMediaType)
	r.expectProblem(t, "/lab/gate", ``, http.StatusNotFound)
	if got := r.conditions(); got != "open 0.5 after 1s" {
		t.Errorf("a refused request has changed the bank: %s", got)
	}
}

func TestLabStoreDown(t *testing.T) {
	r := newLabReplica(t, "sqlite:", plain())
	if err := r.store.db.Close(); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{"/lab/gate/close": "", "/lab/gate/open": "", "/lab/bank": `{"failure":1}`, "/lab/reset": ""} {
		r.expectProblem(t, path, body, http.StatusServiceUnavailable)
	}
	if got := r.conditions(); got != "open 0 before configured" {
		t.Errorf("what no replica can read has changed the bank: %s", got)
	}
}

// Without the lab nothing of it is there, whatever it did before.
func TestWithoutLab(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "payments.db")
	lab := newLabReplica(t, url, plain())
	lab.post(t, "/lab/bank", `{"failure":1}`)
	lab.post(t, "/lab/gate/close", "")
	r, id := newReplica(t, url, plain()), newID()
	for _, path := range []string{"/lab/gate/close", "/lab/gate/open", "/lab/bank", "/lab/reset"} {
		r.expectProblem(t, path, "{}", http.StatusNotFound)
	}
	r.expect(t, seatReserved(id, affordable), succeeded(id))
}
