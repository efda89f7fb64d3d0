package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// Insert writes the row of a booking that has a place in the door, and reports
// whether it is there: false if its Idempotency-Key belongs to another booking.
// After an error it may be there; see database.NotCommitted.
func (s *Store) Insert(ctx context.Context, o row.Order) (bool, error) { return s.inserts.Do(ctx, o) }

func (s *Store) insertAll(ctx context.Context, orders []row.Order) ([]bool, error) {
	statement, args, err := s.insertion(orders)
	if err != nil {
		return nil, err
	}
	inserted, err := database.Query(ctx, s.db, scanID, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("insert bookings: %w", err)
	}
	ids := idsOf(orders)
	if len(inserted) < len(ids) { // a key that is taken, or a row that an earlier try wrote
		if inserted, err = s.written(ctx, ids); err != nil {
			return nil, database.Unknown(err) // the insert is committed
		}
	}
	return among(ids, inserted), nil
}

// insertion is the statement that writes the rows of orders which are not there yet.
func (s *Store) insertion(orders []row.Order) (statement string, args []any, err error) {
	n := len(orders)
	ids, customers, keys := make([]uuid.UUID, n), make([]string, n), make([]*string, n)
	seats, amounts := make([]int64, n), make([]int64, n)
	traces, contexts := make([]string, n), make([]string, n)
	created, started := make([]int64, n), make([]bool, n)
	for i, o := range orders {
		text, err := json.Marshal(o.Carrier)
		if err != nil {
			return "", nil, fmt.Errorf("encode the trace context: %w", err)
		}
		ids[i], customers[i], seats[i], amounts[i] = o.ID, o.Customer, int64(o.Seat), o.Amount.Minor()
		traces[i], contexts[i], created[i], started[i] = o.TraceID, string(text), o.CreatedAt.UnixMicro(), o.Started
		if o.Key != "" {
			keys[i] = &o.Key
		}
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("seat", seats), database.Col("customer", customers),
		database.Col("amount", amounts), database.Col("idempotency_key", keys), database.Col("trace_id", traces),
		database.Col("trace_context", contexts), database.Col("created_at", created), database.Col("started", started))
	instance, deadline := len(args)+1, len(args)+2
	now, args := s.clock(append(args, s.instance, s.deadline.Microseconds())...)
	return fmt.Sprintf(`
		INSERT INTO bookings (id, seat, customer, amount, status, idempotency_key, instance, trace_id, trace_context,
		                      created_at, updated_at, started_at, redrive_at)
		SELECT id, seat, customer, amount, 'Pending', idempotency_key, $%[1]d, trace_id, trace_context,
		       created_at, created_at, CASE WHEN started THEN %[3]s ELSE 0 END, CASE WHEN started THEN %[3]s + $%[2]d ELSE 0 END
		FROM %[4]s WHERE true ORDER BY idempotency_key, id
		ON CONFLICT DO NOTHING RETURNING id`, instance, deadline, now, from), args, nil
}

// Remove deletes bookings whose clients were told that nothing was booked, and
// returns those that it keeps.
func (s *Store) Remove(ctx context.Context, orders []row.Order) (kept []uuid.UUID, err error) {
	if err := s.awaitInserts(ctx, orders); err != nil {
		return nil, err
	}
	ids := idsOf(orders)
	from, args := s.db.Table(database.Col("id", ids))
	// What somebody else may know of already stays: a client by its key, the
	// other services by a redrive, another replica by taking it over.
	if _, err := s.db.ExecContext(ctx, fmt.Sprintf(`DELETE FROM bookings WHERE id IN (SELECT id FROM %s)
		AND idempotency_key IS NULL AND status = 'Pending' AND redrives = 0 AND instance = $%d`, from, len(args)+1),
		append(args, s.instance)...); err != nil {
		return nil, fmt.Errorf("remove bookings: %w", err)
	}
	return s.written(ctx, ids)
}

// awaitInserts waits for inserts of the same rows that may still be running,
// their connections dead: it inserts them again, and takes that back.
func (s *Store) awaitInserts(ctx context.Context, orders []row.Order) error {
	statement, args, err := s.insertion(orders)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for running inserts: %w", err)
	}
	_, err = tx.ExecContext(ctx, statement, args...)
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return fmt.Errorf("wait for running inserts: %w", err)
	}
	return nil
}
