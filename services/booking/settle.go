package booking

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

// settled is what an outcome did to its booking.
type settled struct {
	verdict verdict
	known   bool  // the booking exists
	was     state // before; of an unknown booking nothing
	// Of a booking that changed: its new state, when, and when it was accepted.
	now                  state
	changedAt, createdAt time.Time
}

// settle applies an outcome to its booking, as state.next says.
func (s *store) settle(ctx context.Context, o outcome) (settled, error) {
	return s.settles.Do(ctx, o)
}

// settleAll moves each booking by compare-and-set: first from the state in
// which its outcome usually finds it, and, where that was not so, from the
// state that it is found in, until nothing gets in between.
func (s *store) settleAll(ctx context.Context, outcomes []outcome) ([]settled, error) {
	results := make([]settled, len(outcomes))
	moves := make([]move, len(outcomes))
	for i, o := range outcomes {
		from := o.usual()
		to, _ := from.next(o)
		moves[i] = move{index: i, id: o.id, from: from, to: to}
	}
	// In one order, which is that of the locks where the table is large enough
	// for its index: else two replicas would wait for each other in a circle.
	slices.SortFunc(moves, func(a, b move) int { return bytes.Compare(a.id[:], b.id[:]) })
	changed := false
	for len(moves) > 0 {
		now := time.Now().Truncate(time.Microsecond) // as the row keeps it
		var moved map[uuid.UUID]time.Time
		if err := database.Insist(changed, func() (err error) {
			moved, err = s.compareAndSet(ctx, moves, now)
			return err
		}); err != nil {
			return nil, err
		}
		changed = changed || len(moved) > 0
		var left []move
		for _, m := range moves {
			if createdAt, ok := moved[m.id]; ok {
				results[m.index] = settled{changes, true, m.from, m.to, now, createdAt}
			} else {
				left = append(left, m)
			}
		}
		if err := database.Insist(changed, func() (err error) {
			moves, err = s.again(ctx, outcomes, left, results)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// move is one booking's step from one state to another.
type move struct {
	index    int // of the outcome
	id       uuid.UUID
	from, to state
}

// again reads the bookings that were not in the expected state, gives a result
// to those that need no change, and returns the moves of the others.
func (s *store) again(ctx context.Context, outcomes []outcome, left []move, results []settled) ([]move, error) {
	if len(left) == 0 {
		return nil, nil
	}
	found, err := s.states(ctx, left)
	if err != nil {
		return nil, err
	}
	var moves []move
	for _, m := range left {
		from, ok := found[m.id]
		if !ok {
			continue // unknown: the zero result
		}
		to, v := from.next(outcomes[m.index])
		if v == changes {
			moves = append(moves, move{m.index, m.id, from, to})
			continue
		}
		results[m.index] = settled{verdict: v, known: true, was: from}
	}
	return moves, nil
}

// compareAndSet moves those bookings that are in the state that their move
// starts from, in one statement, and returns when they were accepted. An empty
// reason keeps the row's.
func (s *store) compareAndSet(ctx context.Context, moves []move, now time.Time) (map[uuid.UUID]time.Time, error) {
	n := len(moves)
	ids, fromStatus, fromReleased := make([]uuid.UUID, n), make([]string, n), make([]bool, n)
	toStatus, toReleased, reasons := make([]string, n), make([]bool, n), make([]string, n)
	for i, m := range moves {
		ids[i], fromStatus[i], fromReleased[i] = m.id, string(m.from.status), m.from.released
		toStatus[i], toReleased[i], reasons[i] = string(m.to.status), m.to.released, m.to.reason
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("from_status", fromStatus),
		database.Col("from_released", fromReleased), database.Col("to_status", toStatus),
		database.Col("to_released", toReleased), database.Col("to_reason", reasons))
	type acceptance struct {
		id uuid.UUID
		at int64
	}
	scan := func(r database.Row) (a acceptance, err error) {
		err = r.Scan(&a.id, &a.at)
		return a, err
	}
	moved, err := database.Query(ctx, s.db, scan, fmt.Sprintf(`
		UPDATE bookings SET status = input.to_status, seat_released = input.to_released, updated_at = $%d,
			reason = CASE WHEN input.to_reason = '' THEN bookings.reason ELSE input.to_reason END
		FROM %s
		WHERE bookings.id = input.id AND bookings.status = input.from_status AND bookings.seat_released = input.from_released
		RETURNING bookings.id, bookings.created_at`, len(args)+1, from), append(args, now.UnixMicro())...)
	if err != nil {
		return nil, fmt.Errorf("settle bookings: %w", err)
	}
	accepted := make(map[uuid.UUID]time.Time, len(moved))
	for _, a := range moved {
		accepted[a.id] = time.UnixMicro(a.at)
	}
	return accepted, nil
}

func (s *store) states(ctx context.Context, moves []move) (map[uuid.UUID]state, error) {
	ids := make([]uuid.UUID, len(moves))
	for i, m := range moves {
		ids[i] = m.id
	}
	from, args := s.db.Table(database.Col("id", ids))
	type found struct {
		id uuid.UUID
		state
	}
	scan := func(r database.Row) (f found, err error) {
		err = r.Scan(&f.id, &f.status, &f.released, &f.reason)
		return f, err
	}
	all, err := database.Query(ctx, s.db, scan, `SELECT bookings.id, status, seat_released, reason
		FROM bookings JOIN `+from+` ON bookings.id = input.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read states: %w", err)
	}
	states := make(map[uuid.UUID]state, len(all))
	for _, f := range all {
		states[f.id] = f.state
	}
	return states, nil
}
