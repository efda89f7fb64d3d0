package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// freshness is how long a write answers for the database.
	freshness = 3 * time.Second
	// patience is how long Working waits for a probe.
	patience = 1500 * time.Millisecond
	// probeLimit ends a probe that has no answer.
	probeLimit = 5 * time.Second
)

// Working is nil if the database can commit a write now. Else its error has a
// method Since() time.Time: when the first write of the present streak failed.
//
// What the stores have written in the last seconds answers for it; without
// that, or if some of it failed, a probe writes. There is one at a time, for
// all who ask, and one that hangs is neither waited for nor joined by others.
func (db *DB) Working(ctx context.Context) error {
	h := &db.health
	now := h.now()
	good, bad := h.good.Load(), h.bad.Load()
	failed := bad != 0 && now-bad < freshness.Nanoseconds()
	switch {
	case failed && bad >= good:
		return h.failing()
	case !failed && good != 0 && now-good < freshness.Nanoseconds():
		return nil
	}
	p, err := h.join(db.probe) //nolint:contextcheck // see there
	if err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-p.done: // looked at first: the others may be over as well
		if p.err == nil {
			return nil
		}
		return h.failing()
	default:
		return h.slow(p)
	}
}

// health is what is known of whether the database takes writes. Times are
// nanoseconds since its start; 0 is never.
type health struct {
	start     time.Time
	good, bad atomic.Int64 // when the last write was committed, and when one failed
	since     atomic.Int64 // when the first failed after the last good one

	mu      sync.Mutex
	why     error  // of bad
	running *probe // nil: none
	closed  bool
	wg      sync.WaitGroup // the probe
}

// probe is a write that is made to learn whether it can be.
type probe struct {
	begun  int64
	cancel context.CancelFunc
	done   chan struct{} // closed when err is set
	err    error
}

func (h *health) now() int64 { return time.Since(h.start).Nanoseconds() + 1 }

// note learns from a write of a store. One that changed nothing proves nothing.
func (h *health) note(err error, changed bool) {
	switch {
	case err == nil && changed:
		h.worked()
	case err == nil, BlamesRow(err), LostRace(err), errors.Is(err, context.Canceled):
	case errors.Is(err, context.DeadlineExceeded):
		h.since.CompareAndSwap(0, h.now())
		h.good.Store(0) // perhaps the caller had little time: a probe will tell
	default:
		h.failed(err, h.now())
	}
}

func (h *health) worked() {
	h.good.Store(h.now())
	if h.since.Load() != 0 {
		h.since.Store(0)
	}
}

// failed notes a write that was begun at a moment and failed now.
func (h *health) failed(err error, begun int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = err
	h.bad.Store(h.now())
	h.since.CompareAndSwap(0, begun)
}

// join is the probe that runs, or a new one.
func (h *health) join(write func(context.Context) error) (*probe, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.New("the database is closed")
	}
	if h.running != nil {
		return h.running, nil
	}
	// Detached from whoever asks first: the others wait for it too.
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	p := &probe{begun: h.now(), cancel: cancel, done: make(chan struct{})}
	h.running = p
	h.wg.Go(func() {
		defer cancel()
		if p.err = write(ctx); p.err == nil {
			h.worked()
		} else {
			h.failed(fmt.Errorf("a test write failed: %w", p.err), p.begun)
		}
		h.mu.Lock()
		h.running = nil
		h.mu.Unlock()
		close(p.done)
	})
	return p, nil
}

func (h *health) failing() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &notWorkingError{h.why, h.first(h.bad.Load())}
}

func (h *health) slow(p *probe) error {
	took := time.Duration(h.now() - p.begun).Round(100 * time.Millisecond)
	return &notWorkingError{fmt.Errorf("a test write has had no answer for %s", took), h.first(p.begun)}
}

// first is when the present streak of failures began, at moment at the latest.
func (h *health) first(moment int64) time.Time {
	if since := h.since.Load(); since != 0 {
		moment = min(moment, since)
	}
	return h.start.Add(time.Duration(moment))
}

// close ends the probe, and returns when it is over.
func (h *health) close() {
	h.mu.Lock()
	h.closed = true
	if h.running != nil {
		h.running.cancel()
	}
	h.mu.Unlock()
	h.wg.Wait()
}

type notWorkingError struct {
	err   error
	since time.Time
}

func (e *notWorkingError) Error() string    { return e.err.Error() }
func (e *notWorkingError) Unwrap() error    { return e.err }
func (e *notWorkingError) Since() time.Time { return e.since }
