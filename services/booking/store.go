package booking

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/tickets"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// errNotFound is the error of looking up a booking that does not exist.
var errNotFound = errors.New("no such booking")

// carrier holds the W3C headers of a booking's first publish.
type carrier map[string]string

// unfinished is the condition of the partial index: keep them the same.
const unfinished = `(status = 'Pending' OR (status = 'Cancelled' AND NOT seat_released))`

// storeTimeout bounds one look into the store: a connection that is silently
// dead must hold nobody up for long.
const storeTimeout = 10 * time.Second

const (
	// maxInserts is how many bookings one commit may take.
	maxInserts = 256
	// insertTimeout bounds that commit. It leaves time to look for the rows
	// before their clients are answered.
	insertTimeout = 5 * time.Second
)

// store keeps one row per booking. Its hot statements run in groups: calls
// that come while a commit runs share the next one.
type store struct {
	db       *database.DB
	instance string
	deadline time.Duration // from the start of a saga to its first redrive
	inserts  *database.Group[order, bool]
	starts   *database.Group[order, bool]
	keys     *database.Group[string, *Booking]
	lookups  *database.Group[uuid.UUID, bool]
	settles  *database.Group[outcome, settled]
}

func newStore(db *database.DB, instance string, deadline time.Duration) *store {
	s := &store{db: db, instance: instance, deadline: deadline}
	// Clients, unlike deliveries, are not bounded by a prefetch: the more of them, the larger the groups.
	s.inserts = database.NewGroup(database.GroupConfig[order, bool]{Commit: s.insertAll, Max: maxInserts, Timeout: insertTimeout})
	s.starts = database.NewGroup(database.GroupConfig[order, bool]{Commit: s.startAll})
	s.keys = database.NewGroup(database.GroupConfig[string, *Booking]{Commit: s.byKeys, Timeout: keyLookup})
	s.lookups = database.NewGroup(database.GroupConfig[uuid.UUID, bool]{Commit: s.areWritten, Timeout: commitDoubt})
	s.settles = database.NewGroup(database.GroupConfig[outcome, settled]{
		Commit: s.settleAll,
		Key:    func(o outcome) string { return string(o.id[:]) },
	})
	return s
}

func (s *store) close() {
	s.inserts.Close()
	s.starts.Close()
	s.keys.Close()
	s.lookups.Close()
	s.settles.Close()
}

const columns = `bookings.id, seat, customer, amount, status, reason, seat_released, trace_id, created_at, updated_at`

func scanBooking(r database.Row, more ...any) (Booking, error) {
	var b Booking
	var amount, created, updated int64
	err := r.Scan(append([]any{
		&b.ID, &b.Seat, &b.Customer, &amount, &b.Status, &b.Reason, &b.SeatReleased,
		&b.TraceID, &created, &updated,
	}, more...)...)
	b.Amount = tickets.AmountFromMinor(amount)
	b.CreatedAt, b.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return b, err
}

// get is one booking, or errNotFound.
func (s *store) get(ctx context.Context, id uuid.UUID) (Booking, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
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

// reset deletes every booking.
func (s *store) reset(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM bookings`); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}
