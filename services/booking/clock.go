package booking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boxoffice/internal/database"
)

// clockSlack is how far apart the clocks of replicas may be without a word.
//
// Times in rows are of the wall clock, which may be set. So nothing waits for
// one of them longer than it would have with a good clock: what lies further in
// the future than it can be is due now, and in the door a booking is as old as
// this process has seen it grow, from what its row says, but not from the future.
const clockSlack = time.Minute

// dueAt is the condition of rows whose next redrive is due at $1, microseconds,
// with a saga deadline of $2: also if it was noted by a clock that was ahead.
// The pauses double up to ten times; see claim. (Where replicas do not agree on
// the deadline, one with a shorter one may redrive the others' young sagas, once.)
const dueAt = `redrive_at > 0 AND (redrive_at <= $1 OR redrive_at > $1 + 60000000
	+ CAST($2 AS BIGINT) * (1 << CAST(CASE WHEN redrives < 10 THEN redrives ELSE 10 END AS INTEGER)))`

// since is when something began that a row says began at started, by the clock
// that now has: never in the future.
func since(now, started time.Time) time.Time { return now.Add(-max(0, now.Sub(started))) }

// tellOfTheFuture logs, in one line, that times lie further in the future than
// any good clock would have put them.
func (s *Service) tellOfTheFuture(ctx context.Context, now time.Time, orders []overdueOrder, at func(overdueOrder) time.Time) {
	n, ahead := 0, time.Duration(0)
	for _, o := range orders {
		if d := at(o).Sub(now); d > clockSlack {
			n++
			ahead = max(ahead, d)
		}
	}
	if n > 0 {
		s.log.WarnContext(ctx, "stored times lie in the future: was the clock set back? The bookings go on all the same",
			"bookings", n, "ahead", ahead.Round(time.Second))
	}
}

// noted is the latest time at which the row says that something happened.
func (o overdueOrder) noted() time.Time {
	if o.started.After(o.CreatedAt) {
		return o.started
	}
	return o.CreatedAt
}

// sighting is when a replica was last seen, as it stands in the store.
type sighting struct {
	instance string
	seenAt   int64
}

// seenAfter is the replicas that were seen after a moment.
func (s *store) seenAfter(ctx context.Context, t time.Time) ([]sighting, error) {
	found, err := database.Query(ctx, s.db, func(r database.Row) (v sighting, err error) {
		err = r.Scan(&v.instance, &v.seenAt)
		return v, err
	}, `SELECT instance, seen_at FROM instances WHERE seen_at > $1`, t.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("look for replicas seen in the future: %w", err)
	}
	return found, nil
}

// forget forgets a replica, unless it was seen since.
func (s *store) forget(ctx context.Context, v sighting) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM instances WHERE instance = $1 AND seen_at = $2`, v.instance, v.seenAt); err != nil {
		return fmt.Errorf("forget a replica: %w", err)
	}
	return nil
}

// forgetTheFuture forgets replicas that were seen in the future, and not again
// for a saga deadline by our own clock. Else what waits at one that is gone
// would wait until our clock has caught up. (One that lives, with a clock ahead
// of ours, is seen again and again.)
func (s *Service) forgetTheFuture(ctx context.Context, now time.Time) error {
	found, err := s.store.seenAfter(ctx, now.Add(clockSlack))
	if err != nil {
		return err
	}
	var errs []error
	before := s.ahead
	s.ahead = make(map[sighting]time.Time, len(found))
	for _, v := range found {
		first, known := before[v]
		if !known {
			first = now
		}
		if now.Sub(first) < s.cfg.SagaDeadline {
			s.ahead[v] = first
			continue
		}
		s.log.WarnContext(ctx, "a replica that is gone was last seen in the future: was the clock set back?", "replica", v.instance)
		if err := s.store.forget(ctx, v); err != nil {
			s.ahead[v] = first
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
