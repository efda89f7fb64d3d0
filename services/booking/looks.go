package booking

import (
	"context"
	"slices"
	"sync"
	"time"

	"boxoffice/internal/incident"
	"boxoffice/services/booking/internal/store"
)

// look runs the periodic looks into the store, each on a goroutine of running,
// until ctx ends. They repair what no event will.
func (s *Service) look(ctx context.Context, running *sync.WaitGroup) {
	running.Go(func() { s.every(ctx, time.Second, "looking up outcomes of other replicas", s.free) })
	running.Go(func() { s.every(ctx, time.Second, "resolving unknown outcomes", s.resolveDoubts) })
	running.Go(func() { s.every(ctx, time.Second, "looking for overdue bookings", s.redriveOverdue) })
	running.Go(func() { s.every(ctx, heartbeat, "looking after other replicas", s.lookAfterOthers) })
	running.Go(func() {
		s.every(ctx, waitersLook, "looking up the outcomes that clients wait for", s.wakeOthers)
	})
}

// every does something at each interval, until ctx ends. what names it in the
// log, which says once that it fails, and once that it no longer does.
func (s *Service) every(ctx context.Context, d time.Duration, what string, do func(context.Context) error) {
	failing := incident.Condition{Begins: what + " fails; it is tried again and again", Ends: what + " no longer fails"}
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.incidents.Report(ctx, failing, err)
		}
	}
}

// resolveDoubts finds out which bookings of unknown outcome were written. One
// that somebody may know of is kept, and started; another one is removed, for
// its client was told that it may not be booked. What was not written gives its
// place back.
func (s *Service) resolveDoubts(ctx context.Context) error {
	doubtful := s.door.Doubtful()
	if len(doubtful) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	kept, err := s.store.Remove(ctx, doubtful)
	if err != nil {
		return err
	}
	for _, o := range doubtful {
		if slices.Contains(kept, o.ID) {
			s.door.Commit(o.ID)
		} else {
			s.door.GiveBack(o.ID)
		}
	}
	s.log.InfoContext(ctx, "bookings of unknown outcome are resolved: those that were stored with an Idempotency-Key go on, the others are not booked",
		"booked", len(kept), "not_booked", len(doubtful)-len(kept))
	return nil
}

// free gives back the places of bookings whose outcome another replica has
// committed, and moves those past their deadline to the overdue budget.
func (s *Service) free(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	if held := s.door.Held(); len(held) > 0 {
		ids, err := s.store.Over(ctx, held)
		if err != nil {
			return err
		}
		s.door.Finish(ids...)
	}
	s.door.Expire(time.Now().Add(-s.cfg.SagaDeadline))
	return nil
}

// wakeOthers wakes the clients that wait for an outcome which another replica
// has committed.
func (s *Service) wakeOthers(ctx context.Context) error {
	ids := s.waiters.ids()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	decided, err := s.store.Decided(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range decided {
		s.waiters.wake(id, nil)
	}
	return nil
}
