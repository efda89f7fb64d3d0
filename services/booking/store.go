package booking

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/messaging"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// errNotFound is the error of looking up a booking that does not exist.
var errNotFound = errors.New("no such booking")

// carrier holds the W3C headers of a booking's first publish.
type carrier map[string]string

// unfinished is the condition of the partial index: keep them the same.
const unfinished = `(status = 'Pending' OR (status = 'Cancelled' AND NOT seat_released))`

// store keeps one row per booking. Its hot statements run in groups: calls
// that come while a commit runs share the next one.
type store struct {
	db       *database.DB
	instance string
	deadline time.Duration // from the start of a saga to its first redrive
	inserts  *database.Group[order, struct{}]
	starts   *database.Group[order, struct{}]
	settles  *database.Group[outcome, settled]
}

func newStore(db *database.DB, instance string, deadline time.Duration) *store {
	s := &store{db: db, instance: instance, deadline: deadline}
	s.inserts = database.NewGroup(database.GroupConfig[order, struct{}]{Commit: s.insertAll})
	s.starts = database.NewGroup(database.GroupConfig[order, struct{}]{Commit: s.startAll})
	s.settles = database.NewGroup(database.GroupConfig[outcome, settled]{
		Commit: s.settleAll,
		Key:    func(o outcome) string { return string(o.id[:]) },
	})
	return s
}

func (s *store) close() {
	s.inserts.Close()
	s.starts.Close()
	s.settles.Close()
}

// insert writes the row of an accepted booking. The booking exists once it
// returned nil; after an error it may exist.
func (s *store) insert(ctx context.Context, o order) error {
	_, err := s.inserts.Do(ctx, o)
	return err
}

func (s *store) insertAll(ctx context.Context, orders []order) ([]struct{}, error) {
	n := len(orders)
	ids, customers := make([]uuid.UUID, n), make([]string, n)
	seats, amounts := make([]int64, n), make([]int64, n)
	traces, contexts := make([]string, n), make([]string, n)
	created, started, due := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, o := range orders {
		text, err := json.Marshal(o.carrier)
		if err != nil {
			return nil, fmt.Errorf("encode the trace context: %w", err)
		}
		ids[i], customers[i], seats[i], amounts[i] = o.ID, o.Customer, int64(o.Seat), o.Amount.Minor()
		traces[i], contexts[i], created[i] = o.TraceID, string(text), o.CreatedAt.UnixMicro()
		if !o.started.IsZero() {
			started[i], due[i] = o.started.UnixMicro(), o.started.Add(s.deadline).UnixMicro()
		}
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("seat", seats), database.Col("customer", customers),
		database.Col("amount", amounts), database.Col("trace_id", traces), database.Col("trace_context", contexts),
		database.Col("created_at", created), database.Col("started_at", started), database.Col("redrive_at", due))
	_, err := s.db.ExecContext(ctx, fmt.Sprintf(`
		INSERT INTO bookings (id, seat, customer, amount, status, instance, trace_id, trace_context,
		                      created_at, updated_at, started_at, redrive_at)
		SELECT id, seat, customer, amount, '%s', $%d, trace_id, trace_context, created_at, created_at, started_at, redrive_at
		FROM %s WHERE true
		ON CONFLICT (id) DO NOTHING`, Pending, len(args)+1, from), append(args, s.instance)...)
	if err != nil {
		return nil, fmt.Errorf("insert bookings: %w", err)
	}
	return make([]struct{}, n), nil
}

// start notes that the saga of a booking that waited begins.
func (s *store) start(ctx context.Context, o order) error {
	_, err := s.starts.Do(ctx, o)
	return err
}

func (s *store) startAll(ctx context.Context, orders []order) ([]struct{}, error) {
	ids, started, due := make([]uuid.UUID, len(orders)), make([]int64, len(orders)), make([]int64, len(orders))
	for i, o := range orders {
		ids[i], started[i], due[i] = o.ID, o.started.UnixMicro(), o.started.Add(s.deadline).UnixMicro()
	}
	from, args := s.db.Table(database.Col("id", ids), database.Col("started_at", started), database.Col("redrive_at", due))
	_, err := s.db.ExecContext(ctx, `
		UPDATE bookings SET started_at = input.started_at, redrive_at = input.redrive_at
		FROM `+from+` WHERE bookings.id = input.id AND bookings.started_at = 0`, args...)
	if err != nil {
		return nil, fmt.Errorf("start bookings: %w", err)
	}
	return make([]struct{}, len(orders)), nil
}

const columns = `id, seat, customer, amount, status, reason, seat_released, trace_id, created_at, updated_at`

func scanBooking(r database.Row, more ...any) (Booking, error) {
	var b Booking
	var amount, created, updated int64
	err := r.Scan(append([]any{&b.ID, &b.Seat, &b.Customer, &amount, &b.Status, &b.Reason, &b.SeatReleased,
		&b.TraceID, &created, &updated}, more...)...)
	b.Amount = messaging.AmountFromMinor(amount)
	b.CreatedAt, b.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return b, err
}

// get is one booking, or errNotFound.
func (s *store) get(ctx context.Context, id uuid.UUID) (Booking, error) {
	b, err := scanBooking(s.db.QueryRowContext(ctx, `SELECT `+columns+` FROM bookings WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return b, errNotFound
	}
	if err != nil {
		return b, fmt.Errorf("get booking: %w", err)
	}
	return b, nil
}

// list is up to limit bookings after a cursor, oldest first, of one status or of all ("").
func (s *store) list(ctx context.Context, status Status, after uuid.UUID, limit int) ([]Booking, error) {
	found, err := database.Query(ctx, s.db, func(r database.Row) (Booking, error) { return scanBooking(r) },
		`SELECT `+columns+` FROM bookings
		WHERE id > $1 AND (status = $2 OR $2 = '') ORDER BY id LIMIT $3`, after, string(status), limit)
	if err != nil {
		return nil, fmt.Errorf("list bookings: %w", err)
	}
	return found, nil
}

func scanID(r database.Row) (id uuid.UUID, err error) {
	err = r.Scan(&id)
	return id, err
}
