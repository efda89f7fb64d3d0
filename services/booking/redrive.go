package booking

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"

	"boxoffice/internal/database"
	"boxoffice/internal/incident"
	"boxoffice/internal/lab"
)

// overdueOrder is an unfinished booking as its row has it.
type overdueOrder struct {
	order
	redrives int
	due      time.Time // when it is redriven next; zero: it waits
}

const orderColumns = columns + `, started_at, redrives, redrive_at, trace_context`

func scanOrder(r database.Row) (overdueOrder, error) {
	var o overdueOrder
	var started, due int64
	var text string
	b, err := scanBooking(r, &started, &o.redrives, &due, &text)
	if err != nil {
		return o, err
	}
	o.Booking = b
	if started != 0 {
		o.started = time.UnixMicro(started).UTC()
	}
	if due != 0 {
		o.due = time.UnixMicro(due).UTC()
	}
	if err := json.Unmarshal([]byte(text), &o.carrier); err != nil {
		return o, fmt.Errorf("trace context of booking %s: %w", b.ID, err)
	}
	return o, nil
}

// mine is this instance's unfinished bookings, in the order of acceptance.
func (s *store) mine(ctx context.Context) ([]overdueOrder, error) {
	found, err := database.Query(ctx, s.db, scanOrder, `SELECT `+orderColumns+` FROM bookings
		WHERE `+unfinished+` AND instance = $1 ORDER BY id`, s.instance)
	if err != nil {
		return nil, fmt.Errorf("read unfinished bookings: %w", err)
	}
	return found, nil
}

// due is up to limit unfinished bookings, of any instance, whose next redrive
// is due and that were redriven fewer than most times.
func (s *store) due(ctx context.Context, now time.Time, most, limit int) ([]overdueOrder, error) {
	found, err := database.Query(ctx, s.db, scanOrder, `SELECT `+orderColumns+` FROM bookings
		WHERE `+unfinished+` AND `+dueAt+` AND redrives < $3
		ORDER BY redrive_at LIMIT $4`, now.UnixMicro(), s.deadline.Microseconds(), most, limit)
	if err != nil {
		return nil, fmt.Errorf("read overdue bookings: %w", err)
	}
	return found, nil
}

// claim takes the next redrive of an overdue booking, and reports whether no
// other replica was faster. The next one is due after twice the time.
func (s *store) claim(ctx context.Context, o overdueOrder, now time.Time) (bool, error) {
	next := now.Add(s.deadline << min(o.redrives+1, 10))
	res, err := s.db.ExecContext(ctx, `UPDATE bookings SET redrives = redrives + 1, redrive_at = $1
		WHERE id = $2 AND redrives = $3 AND `+unfinished, next.UnixMicro(), o.ID, o.redrives)
	if err != nil {
		return false, fmt.Errorf("claim the redrive of booking %s: %w", o.ID, err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// stalled counts the unfinished bookings that are redriven no more.
func (s *store) stalled(ctx context.Context, now time.Time, most int) (n int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings
		WHERE `+unfinished+` AND `+dueAt+` AND redrives >= $3`, now.UnixMicro(), s.deadline.Microseconds(), most).Scan(&n)
	return n, err
}

// decided is which of the bookings are no longer Pending.
func (s *store) decided(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	return s.which(ctx, ids, `bookings.status <> 'Pending'`)
}

// over is which of the bookings are no longer Pending, or no longer there.
func (s *store) over(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	from, args := s.db.Table(database.Col("id", ids))
	found, err := database.Query(ctx, s.db, scanID, `SELECT input.id FROM `+from+`
		LEFT JOIN bookings ON bookings.id = input.id WHERE bookings.id IS NULL OR bookings.status <> 'Pending'`, args...)
	if err != nil {
		return nil, fmt.Errorf("look up bookings: %w", err)
	}
	return found, nil
}

// isWritten reports whether a booking has a row.
func (s *store) isWritten(ctx context.Context, id uuid.UUID) (bool, error) {
	return s.lookups.Do(ctx, id)
}

func (s *store) areWritten(ctx context.Context, ids []uuid.UUID) ([]bool, error) {
	found, err := s.written(ctx, ids)
	if err != nil {
		return nil, err
	}
	return among(ids, found), nil
}

// written is which of the bookings have a row.
func (s *store) written(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	return s.which(ctx, ids, `true`)
}

func (s *store) which(ctx context.Context, ids []uuid.UUID, condition string) ([]uuid.UUID, error) {
	from, args := s.db.Table(database.Col("id", ids))
	found, err := database.Query(ctx, s.db, scanID, `SELECT bookings.id FROM bookings JOIN `+from+`
		ON bookings.id = input.id WHERE `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("look up bookings: %w", err)
	}
	return found, nil
}

// every does something at each interval, until ctx ends. what names it in the
// log, which says once that it fails, and once that it works again.
func (s *Service) every(ctx context.Context, d time.Duration, what string, do func(context.Context) error) {
	failing := incident.Condition{Begins: what + " fails; it is tried again and again", Ends: what + " works again", Lasting: true}
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		switch err := do(ctx); {
		case err == nil:
			s.incidents.Over(ctx, failing)
		case ctx.Err() == nil:
			s.incidents.Report(ctx, failing, err)
		}
	}
}

// resolveDoubts finds out which bookings of unknown outcome were written. One
// that somebody may know of is kept, and started; another one is removed, for
// its client was told that it may not be booked. What was not written gives its
// place back.
func (s *Service) resolveDoubts(ctx context.Context) error {
	doubtful := s.door.doubtful()
	if len(doubtful) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := s.store.remove(ctx, doubtful)
	if err != nil {
		return err
	}
	for _, o := range doubtful {
		if slices.Contains(kept, o.ID) {
			s.starter.add(s.door.commit(o.ID)...)
		} else {
			s.starter.add(s.door.giveBack(o.ID)...)
		}
	}
	s.log.InfoContext(ctx, "bookings of unknown outcome are resolved: those that were stored with an Idempotency-Key go on, the others are not booked",
		"booked", len(kept), "not_booked", len(doubtful)-len(kept))
	return nil
}

// free gives back the places of bookings whose outcome another replica has
// committed, and moves those past their deadline to the overdue budget.
func (s *Service) free(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if held := s.door.held(); len(held) > 0 {
		ids, err := s.store.over(ctx, held)
		if err != nil {
			return err
		}
		s.starter.add(s.door.finish(ids...)...)
	}
	s.starter.add(s.door.expire(time.Now().Add(-s.cfg.SagaDeadline))...)
	return nil
}

// redriveBatch bounds how many bookings one look redrives.
const redriveBatch = 100

// redriveOverdue redrives the bookings, of any replica, that are due for it.
// While the broker cannot be published to it spends no claims.
func (s *Service) redriveOverdue(ctx context.Context) error {
	now := time.Now()
	due, err := s.lookOverdue(ctx, now)
	if err != nil {
		return err
	}
	if s.broker.Ready() != nil {
		return nil //nolint:nilerr // it is no failure of this look; /ready and /stats show it
	}
	// A redrive that lies ahead is among them only if it lies too far ahead.
	s.tellOfTheFuture(ctx, now, due, func(o overdueOrder) time.Time { return o.due })
	for _, o := range due {
		if err := s.redrive(ctx, o, now); err != nil {
			return err
		}
	}
	return nil
}

// lookOverdue counts the stalled bookings and reads those due for a redrive.
func (s *Service) lookOverdue(ctx context.Context, now time.Time) ([]overdueOrder, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	stalled, err := s.store.stalled(ctx, now, s.cfg.RedriveLimit)
	if err != nil {
		return nil, err
	}
	s.counts.stalled.Store(int64(stalled))
	return s.store.due(ctx, now, s.cfg.RedriveLimit, redriveBatch)
}

// redrive publishes the first event of an overdue booking again: every service
// repeats its outcome, so that the saga goes on wherever it was lost. If that
// fails, the claim is spent and the next one will do it.
func (s *Service) redrive(ctx context.Context, o overdueOrder, now time.Time) error {
	claiming, cancel := context.WithTimeout(ctx, storeTimeout)
	mine, err := s.store.claim(claiming, o, now)
	cancel()
	if err != nil || !mine {
		return err
	}
	ctx = lab.Without(s.tel.Propagator.Extract(ctx, propagation.MapCarrier(o.carrier)))
	s.counts.redriven.Add(1)
	s.log.WarnContext(ctx, "redriving an overdue booking", "booking", o.ID, "status", o.Status, "redrive", o.redrives+1)
	return s.publish(ctx, o.order)
}
