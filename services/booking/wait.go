package booking

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

const (
	maxWaiters = 10_000 // more clients than that are answered at once
	// waitersLook is how often one query looks after all waiters whose outcome
	// another replica may have committed.
	waitersLook = 250 * time.Millisecond
)

// waiters are the clients that wait for an outcome. Those of outcomes that this
// replica commits are woken at once, the others by one shared query.
type waiters struct {
	mu    sync.Mutex
	byID  map[uuid.UUID][]chan *store.Settled
	count int
	once  sync.Once
	gone  chan struct{} // closed when the service stops
}

func newWaiters() *waiters {
	return &waiters{byID: make(map[uuid.UUID][]chan *store.Settled), gone: make(chan struct{})}
}

// add is a channel that gets the outcome of id, or nil when the store has to be
// asked for it; itself nil if too many wait. Whoever got a channel must call remove.
func (w *waiters) add(id uuid.UUID) chan *store.Settled {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWaiters {
		return nil
	}
	w.count++
	woken := make(chan *store.Settled, 1)
	w.byID[id] = append(w.byID[id], woken)
	return woken
}

func (w *waiters) remove(id uuid.UUID, woken chan *store.Settled) {
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
func (w *waiters) wake(id uuid.UUID, outcome *store.Settled) {
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

// waiter is one client that may wait for one booking.
type waiter struct {
	in    *waiters
	wait  time.Duration // 0: it does not
	id    uuid.UUID
	woken chan *store.Settled // nil: it does not wait
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
func (s *Service) awaitOutcome(ctx context.Context, b row.Booking, w *waiter) (row.Booking, error) {
	if b.Status != Pending || w.woken == nil {
		return b, nil
	}
	timer := time.NewTimer(w.wait)
	defer timer.Stop()
	select {
	case outcome := <-w.woken:
		if outcome == nil {
			return s.store.Get(ctx, b.ID)
		}
		b.Status, b.Reason, b.SeatReleased, b.UpdatedAt = outcome.Now.Status, outcome.Now.Reason, outcome.Now.Released, outcome.ChangedAt
	case <-timer.C:
	case <-ctx.Done():
	case <-s.waiters.gone:
	}
	return b, nil
}
