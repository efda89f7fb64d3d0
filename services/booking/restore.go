package booking

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"boxoffice/internal/database"
)

// restore fills the budgets with the unfinished bookings that this instance
// had admitted before it was restarted, oldest first, and returns what is to
// be started: what the active budget takes. What was admitted once keeps its
// place, even if the limits are smaller now.
func (d *door) restore(orders []order, deadline time.Duration) []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restored = true
	// What has started keeps running first: it is in the queues already.
	slices.SortStableFunc(orders, func(a, b order) int {
		switch {
		case a.started.IsZero() == b.started.IsZero():
			return 0
		case a.started.IsZero():
			return 1
		}
		return -1
	})
	var start []order
	now := d.now()
	for _, o := range orders {
		o.again = !o.started.IsZero()
		s := &slot{order: o, committed: true, since: since(now, o.started)}
		switch {
		case o.again && now.Sub(s.since) > deadline && len(d.overdue) < d.limits.Overdue:
			d.overdue[o.ID] = s
			start = append(start, o)
		case len(d.active) < d.limits.Active && len(d.waiting) == 0:
			if s.started.IsZero() {
				s.started, s.since = now, now
			}
			d.activate(s)
			start = append(start, s.order)
		default:
			s.started = time.Time{}
			d.waiting = append(d.waiting, s)
		}
	}
	return start
}

// adopt gives a place to bookings that waited at a replica which is gone, and
// returns what is to be started.
func (d *door) adopt(orders []order) []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aside = 0
	for _, o := range orders {
		if d.running(o.ID) != nil || d.find(o.ID) != nil {
			continue
		}
		d.waiting = append(d.waiting, &slot{order: o, committed: true})
	}
	slices.SortStableFunc(d.waiting, func(a, b *slot) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return d.promote()
}

// recover takes up, after a start, what this instance had left unfinished: it
// fills the door and publishes the first event of every booking that has a
// place to run, and of those whose seat was not yet released. Then it opens
// the door: nothing was admitted before.
func (s *Service) recover(ctx context.Context) error {
	now := time.Now()
	if err := s.store.seen(ctx, now); err != nil { // before anything waits here
		return err
	}
	all, err := s.store.mine(ctx)
	if err != nil {
		return err
	}
	s.tellOfTheFuture(ctx, now, all, overdueOrder.noted)
	var pending, releasing []order
	for _, o := range all {
		if o.Status == Pending {
			pending = append(pending, o.order)
		} else {
			o.again = true
			releasing = append(releasing, o.order)
		}
	}
	if len(all) > 0 {
		s.log.InfoContext(ctx, "taking up unfinished bookings", "pending", len(pending), "seat not released", len(releasing))
	}
	s.starter.add(s.door.restore(pending, s.cfg.SagaDeadline)...)
	s.starter.add(releasing...)
	s.recovered.Store(true)
	return nil
}

// heartbeat is how often a replica says that it is alive.
const heartbeat = 5 * time.Second

// seen notes that this replica is alive.
func (s *store) seen(ctx context.Context, now time.Time) error {
	// What was not seen for a day had its bookings taken over long ago.
	if _, err := s.db.ExecContext(ctx, `DELETE FROM instances WHERE seen_at < $1`, now.Add(-24*time.Hour).UnixMicro()); err != nil {
		return fmt.Errorf("forget replicas: %w", err)
	}
	_, err := s.db.ExecContext(ctx, `INSERT INTO instances (instance, seen_at) VALUES ($1, $2)
		ON CONFLICT (instance) DO UPDATE SET seen_at = $2`, s.instance, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("note that this replica is alive: %w", err)
	}
	return nil
}

// abandoned is what waits at a replica, not $1, that was not seen since $2. A
// row that another replica takes over meanwhile no longer is.
const abandoned = unfinished + ` AND started_at = 0 AND instance <> $1
	AND instance NOT IN (SELECT instance FROM instances WHERE seen_at >= $2)`

// countAbandoned is how many takeOver would find.
func (s *store) countAbandoned(ctx context.Context, seenBefore time.Time) (n int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings WHERE `+abandoned, s.instance, seenBefore.UnixMicro()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count waiting bookings of others: %w", err)
	}
	return n, nil
}

// takeOver makes up to most bookings this replica's that wait at one that was
// last seen before a moment, oldest first, and returns them.
func (s *store) takeOver(ctx context.Context, seenBefore time.Time, most int) ([]overdueOrder, error) {
	taken, err := database.Query(ctx, s.db, scanOrder, `UPDATE bookings SET instance = $1
		WHERE `+abandoned+` AND id IN (SELECT id FROM bookings WHERE `+abandoned+` ORDER BY id LIMIT $3)
		RETURNING `+orderColumns, s.instance, seenBefore.UnixMicro(), most)
	if err != nil {
		return nil, fmt.Errorf("take over waiting bookings: %w", err)
	}
	return taken, nil
}

// lookAfterOthers says that this replica is alive, and takes over what waits at
// replicas that were not seen for a saga deadline, as far as there is room.
// (What had started there is redriven like everything overdue.)
func (s *Service) lookAfterOthers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	now := time.Now()
	if err := s.store.seen(ctx, now); err != nil {
		return err
	}
	// Who could not say that it is alive cannot blame others for the same.
	// (By either clock: if the wall clock was set ahead, all the others look old.)
	asleep := max(now.Sub(s.lastSeen), now.Round(0).Sub(s.lastSeen.Round(0)))
	if asleep > 3*heartbeat && !s.lastSeen.IsZero() {
		s.patient = now.Add(s.cfg.SagaDeadline)
	}
	s.lastSeen = now
	if now.Before(s.patient) {
		return nil
	}
	if err := s.adoptMissed(ctx); err != nil {
		return err
	}
	if err := s.forgetTheFuture(ctx, now); err != nil {
		return err
	}
	waiting, err := s.store.countAbandoned(ctx, now.Add(-s.cfg.SagaDeadline))
	if err != nil || waiting == 0 {
		return err
	}
	room := s.door.setAside(waiting)
	if room == 0 {
		return nil
	}
	taken, err := s.store.takeOver(ctx, now.Add(-s.cfg.SagaDeadline), room)
	if err != nil || len(taken) == 0 {
		if err != nil {
			s.missed.note() // it may have been committed
		}
		s.door.adopt(nil)
		return err
	}
	orders := make([]order, len(taken))
	for i, o := range taken {
		orders[i] = o.order
	}
	s.log.WarnContext(ctx, "taking over bookings that waited at a replica that is gone", "bookings", len(orders))
	s.starter.add(s.door.adopt(orders)...)
	return nil
}

// missed notes that rows may become this replica's without its knowing: the
// answer to a commit was lost, and a network that comes back may even deliver a
// statement that was given up long ago.
type missed struct{ until atomic.Int64 } // Unix seconds

// missedFor is longer than a network keeps what was sent on a dead connection.
const missedFor = 20 * time.Minute

func (m *missed) note() { m.until.Store(time.Now().Add(missedFor).Unix()) }

func (m *missed) maybe() bool { return time.Now().Unix() < m.until.Load() }

// adoptMissed gives a place to this replica's waiting bookings that have none,
// if there may be some: nothing else would start them.
func (s *Service) adoptMissed(ctx context.Context) error {
	if !s.missed.maybe() {
		return nil
	}
	mine, err := s.store.mine(ctx)
	if err != nil {
		return err
	}
	var waiting []order
	for _, o := range mine {
		if o.Status == Pending && o.started.IsZero() {
			waiting = append(waiting, o.order)
		}
	}
	s.starter.add(s.door.adopt(waiting)...) // what has a place already is skipped
	return nil
}
