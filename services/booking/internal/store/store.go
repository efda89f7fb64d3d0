// Package store keeps one row per booking: all SQL of the service is here.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations are the files that make the tables.
func Migrations() (fs.FS, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return files, nil
}

// ErrNotFound is the error of looking up a booking that does not exist.
var ErrNotFound = errors.New("no such booking")

const (
	// Timeout bounds one look into the store: a connection that is silently dead
	// must hold nobody up for long.
	Timeout = 10 * time.Second
	// KeyLookup bounds the lookup of a key, the one that a request costs a full door.
	KeyLookup = 2 * time.Second
	// RowLookup is how long the row of a commit that nobody saw end is looked for.
	RowLookup = 3 * time.Second

	// maxInserts is how many bookings one commit may take.
	maxInserts = 256
	// insertTimeout bounds that commit. It leaves time to look for the rows
	// before their clients are answered.
	insertTimeout = 5 * time.Second
)

// Store is the table of one replica. Its hot statements run in groups: calls
// that come while a commit runs share the next one.
type Store struct {
	db       *database.DB
	instance string
	deadline time.Duration    // from the start of a saga to its first redrive
	now      func() time.Time // see clock
	inserts  *database.Group[row.Order, bool]
	starts   *database.Group[row.Order, bool]
	keys     *database.Group[string, *row.Booking]
	lookups  *database.Group[uuid.UUID, bool]
	settles  *database.Group[row.Outcome, Settled]
}

// New makes the store of an instance. Close it. On SQLite it keeps deadlines by
// now, which must never go back; PostgreSQL has a clock of its own.
func New(db *database.DB, instance string, deadline time.Duration, now func() time.Time) *Store {
	s := &Store{db: db, instance: instance, deadline: deadline, now: now}
	// Clients, unlike deliveries, are not bounded by a prefetch: the more of them, the larger the groups.
	s.inserts = database.NewGroup(database.GroupConfig[row.Order, bool]{Commit: s.insertAll, Max: maxInserts, Timeout: insertTimeout})
	s.starts = database.NewGroup(database.GroupConfig[row.Order, bool]{Commit: s.startAll})
	s.keys = database.NewGroup(database.GroupConfig[string, *row.Booking]{Commit: s.byKeys, Timeout: KeyLookup})
	s.lookups = database.NewGroup(database.GroupConfig[uuid.UUID, bool]{Commit: s.areWritten, Timeout: RowLookup})
	s.settles = database.NewGroup(database.GroupConfig[row.Outcome, Settled]{
		Commit: s.settleAll,
		Key:    func(o row.Outcome) string { return string(o.ID[:]) },
	})
	return s
}

// Close waits for what is being committed.
func (s *Store) Close() {
	s.inserts.Close()
	s.starts.Close()
	s.keys.Close()
	s.lookups.Close()
	s.settles.Close()
}

const columns = `bookings.id, seat, customer, amount, status, reason, seat_released, trace_id, created_at, updated_at`

func scanBooking(r database.Row, more ...any) (row.Booking, error) {
	var b row.Booking
	var amount, created, updated int64
	err := r.Scan(append([]any{
		&b.ID, &b.Seat, &b.Customer, &amount, &b.Status, &b.Reason, &b.SeatReleased,
		&b.TraceID, &created, &updated,
	}, more...)...)
	b.Amount = tickets.AmountFromMinor(amount)
	b.CreatedAt, b.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return b, err
}

// Get is one booking, or ErrNotFound.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (row.Booking, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	b, err := scanBooking(s.db.QueryRowContext(ctx, `SELECT `+columns+` FROM bookings WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return b, ErrNotFound
	}
	if err != nil {
		return b, fmt.Errorf("get booking: %w", err)
	}
	return b, nil
}

// List is up to limit bookings after a cursor, oldest first, of one status or of all ("").
func (s *Store) List(ctx context.Context, status row.Status, after uuid.UUID, limit int) ([]row.Booking, error) {
	found, err := database.Query(ctx, s.db, func(r database.Row) (row.Booking, error) { return scanBooking(r) },
		`SELECT `+columns+` FROM bookings
		WHERE id > $1 AND (status = $2 OR $2 = '') ORDER BY id LIMIT $3`, after, string(status), limit)
	if err != nil {
		return nil, fmt.Errorf("list bookings: %w", err)
	}
	return found, nil
}

// Reset deletes every booking.
func (s *Store) Reset(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM bookings`); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}
