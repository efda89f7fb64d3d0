package booking

import (
	"context"
	"sync/atomic"
	"time"

	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

// heartbeat is how often a replica says that it is alive.
const heartbeat = 5 * time.Second

// lookAfterOthers says that this replica is alive, and takes over what waits at
// replicas that were not seen for a saga deadline, as far as there is room.
// (What had started there is redriven like everything overdue.)
func (s *Service) lookAfterOthers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	seen, err := s.store.Seen(ctx)
	if err != nil {
		return err
	}
	if s.absence.patient(seen, s.cfg.SagaDeadline) {
		return nil
	}
	if err := s.adoptMissed(ctx); err != nil {
		return err
	}
	return s.takeOver(ctx)
}

// absence is for lookAfterOthers alone.
type absence struct {
	lastSeen time.Time // when this replica last said that it is alive, by the store's clock
	until    time.Time // by our own: until when it leaves the others alone
}

// patient reports whether to leave the others alone: who could not say that it
// is alive cannot blame them for the same, nor if the store's clock was set.
func (a *absence) patient(seen time.Time, deadline time.Duration) bool {
	if gap := seen.Sub(a.lastSeen); !a.lastSeen.IsZero() && (gap < 0 || gap > 3*heartbeat) {
		a.until = time.Now().Add(deadline)
	}
	a.lastSeen = seen
	return time.Now().Before(a.until)
}

// takeOver takes over what waits at replicas that are gone.
func (s *Service) takeOver(ctx context.Context) error {
	waiting, err := s.store.CountAbandoned(ctx)
	if err != nil || waiting == 0 {
		return err
	}
	room := s.door.SetAside(waiting)
	if room == 0 {
		return nil
	}
	taken, err := s.store.TakeOver(ctx, room)
	if err != nil {
		s.missed.note() // it may have been committed
	}
	if len(taken) > 0 {
		s.log.WarnContext(ctx, "taking over bookings that waited at a replica that is gone", "bookings", len(taken))
	}
	s.door.Adopt(taken)
	return err
}

// missed notes that rows may become this replica's without its knowing: the
// answer to a commit was lost, and a network that comes back may even deliver a
// statement that was given up long ago.
type missed struct{ last atomic.Pointer[time.Time] }

// missedFor is longer than a network keeps what was sent on a dead connection.
const missedFor = 20 * time.Minute

func (m *missed) note() {
	now := time.Now()
	m.last.Store(&now)
}

func (m *missed) maybe() bool {
	last := m.last.Load()
	return last != nil && time.Since(*last) < missedFor
}

// adoptMissed gives a place to this replica's waiting bookings that have none,
// if there may be some: nothing else would start them.
func (s *Service) adoptMissed(ctx context.Context) error {
	if !s.missed.maybe() {
		return nil
	}
	mine, err := s.store.Mine(ctx)
	if err != nil {
		return err
	}
	var waiting []row.Order
	for _, o := range mine {
		if o.Status == Pending && !o.Started {
			waiting = append(waiting, o)
		}
	}
	s.door.Adopt(waiting) // what has a place already is skipped
	return nil
}
