package booking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

// insert writes the row of a booking that has a place in the door, and reports
// whether it is there: false if its Idempotency-Key belongs to another booking.
// After an error it may be there; see database.NotCommitted.
func (s *store) insert(ctx context.Context, o order) (bool, error) { return s.inserts.Do(ctx, o) }

func (s *store) insertAll(ctx context.Context, orders []order) ([]bool, error) {
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

func idsOf(orders []order) []uuid.UUID {
	ids := make([]uuid.UUID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	return ids
}

// insertion is the statement that writes the rows of orders which are not there yet.
func (s *store) insertion(orders []order) (statement string, args []any, err error) {
	n := len(orders)
	ids, customers, keys := make([]uuid.UUID, n), make([]string, n), make([]*string, n)
	seats, amounts := make([]int64, n), make([]int64, n)
	traces, contexts := make([]string, n), make([]string, n)
	created, started, due := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, o := range orders {
		text, err := json.Marshal(o.carrier)
		if err != nil {
			return "", nil, fmt.Errorf("encode the trace context: %w", err)
		}
		ids[i], customers[i], seats[i], amounts[i] = o.ID, o.Customer, int64(o.Seat), o.Amount.Minor()
		traces[i], contexts[i], created[i] = o.TraceID, string(text), o.CreatedAt.UnixMicro()
		if o.key != "" {
			keys[i] = &o.key
		}
		if !o.started.IsZero() {
			started[i], due[i] = o.started.UnixMicro(), o.started.Add(s.deadline).UnixMicro()
		}
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("seat", seats), database.Col("customer", customers),
		database.Col("amount", amounts), database.Col("idempotency_key", keys), database.Col("trace_id", traces),
		database.Col("trace_context", contexts), database.Col("created_at", created), database.Col("started_at", started),
		database.Col("redrive_at", due))
	return fmt.Sprintf(`
		INSERT INTO bookings (id, seat, customer, amount, status, idempotency_key, instance, trace_id, trace_context,
		                      created_at, updated_at, started_at, redrive_at)
		SELECT id, seat, customer, amount, 'Pending', idempotency_key, $%d, trace_id, trace_context,
		       created_at, created_at, started_at, redrive_at
		FROM %s WHERE true ORDER BY idempotency_key, id
		ON CONFLICT DO NOTHING RETURNING id`, len(args)+1, from), append(args, s.instance), nil
}

// start notes that the saga of a booking that waited begins, and reports
// whether it still has its place here: false if another replica took it over.
func (s *store) start(ctx context.Context, o order) (bool, error) { return s.starts.Do(ctx, o) }

func (s *store) startAll(ctx context.Context, orders []order) ([]bool, error) {
	ids, started, due := make([]uuid.UUID, len(orders)), make([]int64, len(orders)), make([]int64, len(orders))
	for i, o := range orders {
		ids[i], started[i], due[i] = o.ID, o.started.UnixMicro(), o.started.Add(s.deadline).UnixMicro()
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("started_at", started), database.Col("redrive_at", due))
	mine, err := database.Query(ctx, s.db, scanID, fmt.Sprintf(`
		UPDATE bookings SET
			started_at = CASE WHEN bookings.started_at = 0 THEN input.started_at ELSE bookings.started_at END,
			redrive_at = CASE WHEN bookings.started_at = 0 THEN input.redrive_at ELSE bookings.redrive_at END
		FROM %s WHERE bookings.id = input.id AND bookings.instance = $%d
		RETURNING bookings.id`, from, len(args)+1), append(args, s.instance)...)
	if err != nil {
		return nil, fmt.Errorf("start bookings: %w", err)
	}
	return among(ids, mine), nil
}

// remove deletes bookings whose clients were told that nothing was booked, and
// returns those that it keeps.
func (s *store) remove(ctx context.Context, orders []order) (kept []uuid.UUID, err error) {
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
func (s *store) awaitInserts(ctx context.Context, orders []order) error {
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

// byKey is the booking that was made with an Idempotency-Key, or nil.
func (s *store) byKey(ctx context.Context, key string) (*Booking, error) { return s.keys.Do(ctx, key) }

func (s *store) byKeys(ctx context.Context, keys []string) ([]*Booking, error) {
	from, args := s.db.Table(database.Col("wanted", keys))
	type keyed struct {
		key string
		Booking
	}
	scan := func(r database.Row) (k keyed, err error) {
		k.Booking, err = scanBooking(r, &k.key)
		return k, err
	}
	found, err := database.Query(ctx, s.db, scan, `SELECT `+columns+`, idempotency_key FROM bookings
		WHERE idempotency_key IN (SELECT wanted FROM `+from+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("look up idempotency keys: %w", err)
	}
	byKey := make(map[string]*Booking, len(found))
	for _, k := range found {
		byKey[k.key] = &k.Booking
	}
	all := make([]*Booking, len(keys))
	for i, key := range keys {
		all[i] = byKey[key]
	}
	return all, nil
}

// among reports of each id whether it is one of some.
func among(ids, some []uuid.UUID) []bool {
	set := make(map[uuid.UUID]bool, len(some))
	for _, id := range some {
		set[id] = true
	}
	is := make([]bool, len(ids))
	for i, id := range ids {
		is[i] = set[id]
	}
	return is
}
