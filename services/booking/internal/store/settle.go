package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// Settled is what an outcome did to its booking.
type Settled struct {
	Verdict row.Verdict
	Known   bool      // the booking exists
	Was     row.State // before; of an unknown booking nothing
	// Of a booking that changed: its new state, when, and when it was accepted.
	Now                  row.State
	ChangedAt, CreatedAt time.Time
}

// Settle applies an outcome to its booking, as row.State.Next says.
func (s *Store) Settle(ctx context.Context, o row.Outcome) (Settled, error) {
	return s.settles.Do(ctx, o)
}

// settleAll moves each booking by compare-and-set: first from the state in
// which its outcome usually finds it, and, where that was not so, from the
// state that it is found in, until nothing gets in between.
func (s *Store) settleAll(ctx context.Context, outcomes []row.Outcome) ([]Settled, error) {
	results := make([]Settled, len(outcomes))
	moves := make([]move, len(outcomes))
	for i, o := range outcomes {
		from := o.Usual()
		to, _ := from.Next(o)
		moves[i] = move{index: i, id: o.ID, from: from, to: to}
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
				results[m.index] = Settled{row.Changes, true, m.from, m.to, now, createdAt}
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
	from, to row.State
}

// again reads the bookings that were not in the expected state, gives a result
// to those that need no change, and returns the moves of the others.
func (s *Store) again(ctx context.Context, outcomes []row.Outcome, left []move, results []Settled) ([]move, error) {
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
		to, v := from.Next(outcomes[m.index])
		if v == row.Changes {
			moves = append(moves, move{m.index, m.id, from, to})
			continue
		}
		results[m.index] = Settled{Verdict: v, Known: true, Was: from}
	}
	return moves, nil
}

// compareAndSet moves those bookings that are in the state that their move
// starts from, in one statement, and returns when they were accepted. An empty
// reason keeps the row's.
func (s *Store) compareAndSet(ctx context.Context, moves []move, now time.Time) (map[uuid.UUID]time.Time, error) {
	n := len(moves)
	ids, fromStatus, fromReleased := make([]uuid.UUID, n), make([]string, n), make([]bool, n)
	toStatus, toReleased, reasons := make([]string, n), make([]bool, n), make([]string, n)
	for i, m := range moves {
		ids[i], fromStatus[i], fromReleased[i] = m.id, string(m.from.Status), m.from.Released
		toStatus[i], toReleased[i], reasons[i] = string(m.to.Status), m.to.Released, m.to.Reason
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

func (s *Store) states(ctx context.Context, moves []move) (map[uuid.UUID]row.State, error) {
	ids := make([]uuid.UUID, len(moves))
	for i, m := range moves {
		ids[i] = m.id
	}
	from, args := s.db.Table(database.Col("id", ids))
	type found struct {
		id uuid.UUID
		row.State
	}
	scan := func(r database.Row) (f found, err error) {
		err = r.Scan(&f.id, &f.Status, &f.Released, &f.Reason)
		return f, err
	}
	all, err := database.Query(ctx, s.db, scan, `SELECT bookings.id, status, seat_released, reason
		FROM bookings JOIN `+from+` ON bookings.id = input.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read states: %w", err)
	}
	states := make(map[uuid.UUID]row.State, len(all))
	for _, f := range all {
		states[f.id] = f.State
	}
	return states, nil
}
