package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// unfinished is the condition of the partial index: keep them the same.
const unfinished = `(status = 'Pending' OR (status = 'Cancelled' AND NOT seat_released))`

// Start notes that the saga of a booking that waited begins, and reports
// whether it still has its place here: false if another replica took it over.
func (s *Store) Start(ctx context.Context, o row.Order) (bool, error) { return s.starts.Do(ctx, o) }

func (s *Store) startAll(ctx context.Context, orders []row.Order) ([]bool, error) {
	ids := idsOf(orders)
	from, args := s.db.Table(database.Col("id", ids))
	instance, deadline := len(args)+1, len(args)+2
	now, args := s.clock(append(args, s.instance, s.deadline.Microseconds())...)
	mine, err := database.Query(ctx, s.db, scanID, fmt.Sprintf(`
		UPDATE bookings SET
			started_at = CASE WHEN bookings.started_at = 0 THEN %[3]s ELSE bookings.started_at END,
			redrive_at = CASE WHEN bookings.started_at = 0 THEN %[3]s + $%[2]d ELSE bookings.redrive_at END
		FROM %[4]s WHERE bookings.id = input.id AND bookings.instance = $%[1]d
		RETURNING bookings.id`, instance, deadline, now, from), args...)
	if err != nil {
		return nil, fmt.Errorf("start bookings: %w", err)
	}
	return among(ids, mine), nil
}

// Mine is this instance's unfinished bookings, in the order of acceptance.
func (s *Store) Mine(ctx context.Context) ([]row.Order, error) {
	now, args := s.clock(s.instance)
	found, err := database.Query(ctx, s.db, scanOrder, `SELECT `+orderColumns(now)+` FROM bookings
		WHERE `+unfinished+` AND instance = $1 ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read unfinished bookings: %w", err)
	}
	return found, nil
}

// orderColumns are what scanOrder reads.
func orderColumns(now string) string {
	return columns + `, started_at > 0, CASE WHEN started_at > 0 THEN ` + now + ` - started_at ELSE 0 END, redrives, trace_context`
}

func scanOrder(r database.Row) (row.Order, error) {
	var o row.Order
	var age int64
	var text string
	b, err := scanBooking(r, &o.Started, &age, &o.Redrives, &text)
	if err != nil {
		return o, err
	}
	o.Booking = b
	o.Age = max(0, time.Duration(age)*time.Microsecond) // the clock may have been set back since
	if err := json.Unmarshal([]byte(text), &o.Carrier); err != nil {
		return o, fmt.Errorf("trace context of booking %s: %w", b.ID, err)
	}
	return o, nil
}

func idsOf(orders []row.Order) []uuid.UUID {
	ids := make([]uuid.UUID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	return ids
}
