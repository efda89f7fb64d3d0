package booking

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

const (
	maxWait    = 60 * time.Second
	maxWaiters = 10_000 // more clients than that are answered at once
	// waitersLook is how often one query looks after all waiters whose outcome
	// another replica may have committed.
	waitersLook = 250 * time.Millisecond
)

// waiters are the clients that wait for an outcome. Those of outcomes that this
// replica commits are woken at once, the others by one shared query.
type waiters struct {
	mu    sync.Mutex
	byID  map[uuid.UUID][]chan *settled
	count int
	once  sync.Once
	gone  chan struct{} // closed when the service stops
}

func newWaiters() *waiters {
	return &waiters{byID: make(map[uuid.UUID][]chan *settled), gone: make(chan struct{})}
}

// add is a channel that gets the outcome of id, or nil when the store has to be
// asked for it; itself nil if too many wait. Whoever got a channel must call remove.
func (w *waiters) add(id uuid.UUID) chan *settled {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWaiters {
		return nil
	}
	w.count++
	woken := make(chan *settled, 1)
	w.byID[id] = append(w.byID[id], woken)
	return woken
}

func (w *waiters) remove(id uuid.UUID, woken chan *settled) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	all := w.byID[id]
	for i, c := range all {
		if c == woken {
			w.byID[id] = append(all[:i:i], all[i+1:]...)
		}
	}
	if len(w.byID[id]) == 0 {
		delete(w.byID, id)
	}
}

// wake hands an outcome to those that wait for it.
func (w *waiters) wake(id uuid.UUID, outcome *settled) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.byID[id] {
		c <- outcome // has room: each channel is woken once
	}
	delete(w.byID, id)
}

// release lets everybody go, now and later: the service stops.
func (w *waiters) release() { w.once.Do(func() { close(w.gone) }) }

func (w *waiters) ids() []uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(w.byID))
	for id := range w.byID {
		ids = append(ids, id)
	}
	return ids
}

// wakeOthers wakes those whose outcome another replica has committed.
func (s *Service) wakeOthers(ctx context.Context) error {
	ids := s.waiters.ids()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	decided, err := s.store.decided(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range decided {
		s.waiters.wake(id, nil)
	}
	return nil
}

// waiter is one client that may wait for one booking.
type waiter struct {
	in    *waiters
	wait  time.Duration // 0: it does not
	id    uuid.UUID
	woken chan *settled // nil: it does not wait
}

// watch has the client woken for the booking of id, and for no other.
func (w *waiter) watch(id uuid.UUID) {
	w.stop()
	if w.wait > 0 {
		w.id, w.woken = id, w.in.add(id)
	}
}

// stop ends the watch, if there is one.
func (w *waiter) stop() {
	if w.woken != nil {
		w.in.remove(w.id, w.woken)
		w.woken = nil
	}
}

// awaitOutcome waits for the outcome of a Pending booking that w watches until
// the time is up, the client leaves or the service stops, and returns the
// booking as it is then.
func (s *Service) awaitOutcome(ctx context.Context, b Booking, w *waiter) (Booking, error) {
	if b.Status != Pending || w.woken == nil {
		return b, nil
	}
	timer := time.NewTimer(w.wait)
	defer timer.Stop()
	select {
	case outcome := <-w.woken:
		if outcome == nil {
			return s.store.get(ctx, b.ID)
		}
		b.Status, b.Reason, b.SeatReleased, b.UpdatedAt = outcome.now.status, outcome.now.reason, outcome.now.released, outcome.changedAt
	case <-timer.C:
	case <-ctx.Done():
	case <-s.waiters.gone:
	}
	return b, nil
}

// preferredWait reads Prefer: wait=N (RFC 7240), in whole seconds. Preferences
// that we do not know are no errors.
func preferredWait(c echo.Context) (time.Duration, error) {
	for _, value := range c.Request().Header.Values("Prefer") {
		for p := range strings.SplitSeq(value, ",") {
			p, _, _ = strings.Cut(p, ";") // parameters, which wait has none of
			name, text, _ := strings.Cut(strings.TrimSpace(p), "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(text), `"`))
			d := time.Duration(n) * time.Second
			if err != nil || n < 0 || n > int(maxWait/time.Second) {
				return 0, &httpserver.Problem{
					Type: httpserver.TypeMalformed, Title: "Malformed request", Status: http.StatusBadRequest,
					Detail: "A header is wrong.",
					Errors: []httpserver.FieldError{{Field: "Prefer", Detail: "wait must be a whole number of seconds from 0 to 60"}},
				}
			}
			c.Response().Header().Set("Preference-Applied", "wait="+strconv.Itoa(n))
			return d, nil
		}
	}
	return 0, nil
}

// queriedWait reads ?wait=, a duration such as 5s, or whole seconds.
func queriedWait(c echo.Context) (time.Duration, error) {
	text := c.QueryParam("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if n, notNumber := strconv.Atoi(text); notNumber == nil && n <= int(maxWait/time.Second) {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 || d > maxWait {
		return 0, httpserver.BadQuery("wait", "must be a duration from 0s to 60s")
	}
	return d, nil
}

// getBooking shows one booking, after its outcome or the wait.
func (s *Service) getBooking(c echo.Context) error {
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return httpserver.NotFound("There is no such booking: its id is a UUID.")
	}
	wait, err := queriedWait(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	waiting := waiter{in: s.waiters, wait: wait}
	defer waiting.stop()
	waiting.watch(id) // before the look, so that no outcome slips between
	b, err := s.store.get(ctx, id)
	if err == nil {
		b, err = s.awaitOutcome(ctx, b, &waiting)
	}
	if errors.Is(err, errNotFound) {
		return httpserver.NotFound("There is no booking " + id.String() + ".")
	}
	if err != nil {
		return storeDown(err)
	}
	return c.JSON(http.StatusOK, toJSON(b))
}
