package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/verify"
	"boxoffice/messaging"
)

// hall is three services whose bookings are all Rejected at once.
type hall struct {
	*httptest.Server

	mu       sync.Mutex
	bookings []map[string]any
	silent   bool // it takes bookings, and does not answer
}

func newHall(t *testing.T) *hall {
	h := &hall{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	h.book()
	return h
}

func (h *hall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPost:
		b := h.book()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.silent {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(b)
	case r.URL.Path == "/bookings":
		h.mu.Lock()
		defer h.mu.Unlock()
		all := h.bookings
		if r.URL.Query().Get("status") != "" {
			all = nil // none of those that are asked for
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"bookings": all})
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"accepting": true, "broker": brokerOK, "total": 9, "free": 9})
	}
}

// book is what anyone may do.
func (h *hall) book() map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := map[string]any{"id": uuid.Must(uuid.NewV7()), "seat": 1, "customer": "x", "amount": 450, "status": "Rejected"}
	h.bookings = append(h.bookings, b)
	return b
}

// keep forgets all bookings but those from the nth to before the mth.
func (h *hall) keep(n, m int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bookings = slices.Clone(h.bookings[n:m])
}

func (h *hall) stack() Stack {
	return Stack{
		Targets: verify.Targets{Booking: h.URL, Seats: h.URL, Payments: h.URL}, Parked: nobodyKnows{}, Patience: time.Second,
		Queues: func(context.Context, time.Time, time.Time) (map[string]int, string, error) { return nil, "", nil },
	}
}

// nobodyKnows of parked messages.
type nobodyKnows struct{}

func (nobodyKnows) List(context.Context, string) ([]messaging.DeadLetter, error) {
	return nil, ErrCannot
}
func (nobodyKnows) Redrive(context.Context, string) (int, error) { return 0, ErrCannot }

var errStuck = errors.New("stuck")

func TestVerdictAmongOthers(t *testing.T) {
	const one, two = "1 booking that is not of this experiment was made meanwhile", "2 bookings that are not of this experiment were made meanwhile"
	for name, test := range map[string]struct {
		play               func(context.Context, *hall, *Stage) error
		verdict, disturbed string
		broken             []string
		err                error
	}{
		"alone": {play: func(context.Context, *hall, *Stage) error { return nil }, verdict: "PASS"},
		"alone, and broken": {play: func(_ context.Context, _ *hall, s *Stage) error {
			s.Expect(false, "x")
			return nil
		}, verdict: "FAIL", broken: []string{"it should be that x"}},
		"others book": {play: func(_ context.Context, h *hall, _ *Stage) error {
			h.book()
			return nil
		}, verdict: "DISTURBED", disturbed: one},
		"others book, and it is broken": {play: func(_ context.Context, h *hall, s *Stage) error {
			s.Expect(false, "x")
			h.book()
			h.book()
			return nil
		}, verdict: "DISTURBED", disturbed: two, broken: []string{"it should be that x"}},
		"it cannot go on": {play: func(context.Context, *hall, *Stage) error { return errStuck }, err: errStuck},
		"others book, and it cannot go on": {play: func(_ context.Context, h *hall, _ *Stage) error {
			h.book()
			return errStuck
		}, verdict: "DISTURBED", disturbed: one, broken: []string{"it could not go on: stuck"}},
		"others book where it cannot be tried": {play: func(_ context.Context, h *hall, _ *Stage) error {
			h.book()
			return ErrCannot
		}, err: ErrCannot},
		"its own booking is lost": {play: func(_ context.Context, h *hall, _ *Stage) error {
			h.keep(0, 1)
			return nil
		}, verdict: "FAIL", broken: []string{"invariant 1: "}},
		"others empty the services": {play: func(_ context.Context, h *hall, _ *Stage) error {
			h.keep(0, 0)
			return nil
		}, verdict: "DISTURBED", disturbed: "the services were emptied meanwhile", broken: []string{"invariant 1: "}},
		"only the first booking is lost": {play: func(ctx context.Context, h *hall, s *Stage) error {
			_, err := s.Try(ctx, Order{Customer: "maria", Seat: 2, Amount: "600"})
			h.keep(0, 2)
			return err
		}, verdict: "FAIL", broken: []string{"invariant 1: "}},
		"its own booking is not answered": {play: func(ctx context.Context, h *hall, s *Stage) error {
			h.mu.Lock()
			h.silent = true
			h.mu.Unlock()
			if _, err := s.Try(ctx, Order{Customer: "maria", Seat: 2, Amount: "600"}); err == nil {
				t.Error("it is answered")
			}
			return errStuck
		}, err: errStuck},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t)
			var text bytes.Buffer
			r, err := Run(t.Context(), Experiment{Name: "test", Run: func(ctx context.Context, s *Stage) error {
				if _, err := s.Try(ctx, Order{Customer: "olena", Seat: 1, Amount: "450"}); err != nil {
					return err
				}
				return test.play(ctx, h, s)
			}}, h.stack(), &text)
			if test.err != nil {
				if !errors.Is(err, test.err) {
					t.Errorf("%v, want %v\n%s", err, test.err, &text)
				}
				return
			}
			if err != nil || r.Verdict() != test.verdict || r.Disturbed != test.disturbed || !slices.EqualFunc(r.Broken, test.broken, strings.HasPrefix) {
				t.Errorf("%v, %+v\n%s", err, r, &text)
			}
			if (test.disturbed != "") != strings.Contains(text.String(), "\n      disturbed: "+test.disturbed+"\n") || strings.Count(text.String(), "broken, perhaps by that: ") != len(test.broken)*min(1, len(test.disturbed)) {
				t.Error(text.String())
			}
		})
	}
}

// Where nobody else is there, a booking that was not accepted is a defect.
func TestAKeptRefusalIsNotOfOthers(t *testing.T) {
	h := newHall(t)
	stack := h.stack()
	stack.Own = true
	r, err := Run(t.Context(), Experiment{Name: "x", Run: func(context.Context, *Stage) error {
		h.book()
		return nil
	}}, stack, io.Discard)
	if err != nil || r.Verdict() != "FAIL" || !slices.Equal(r.Broken, []string{"invariant 1: 1 of the bookings were not accepted, and exist"}) {
		t.Errorf("%+v, %v", r, err)
	}
}
