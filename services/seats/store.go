package seats

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/tickets"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// store keeps one row per booking. Calls that come while a commit runs share
// the next one; each statement is a transaction of its own.
type store struct {
	db       *database.DB
	total    int // the hall's seats are 1 to total
	reserves *database.Group[Reservation, Reservation]
	releases *database.Group[Reservation, Reservation]
}

func newStore(db *database.DB, total int) *store {
	s := &store{db: db, total: total}
	group := func(commit func(context.Context, []Reservation) ([]Reservation, error)) *database.Group[Reservation, Reservation] {
		return database.NewGroup(database.GroupConfig[Reservation, Reservation]{
			Commit: commit,
			Key:    func(r Reservation) string { return string(r.BookingID[:]) },
		})
	}
	s.reserves, s.releases = group(s.reserveAll), group(s.releaseAll)
	return s
}

func (s *store) close() {
	s.reserves.Close()
	s.releases.Close()
}

// reserve gives the booking its seat if it is free, turns it down if not, and
// returns its row; a row that is there already stays as it is.
func (s *store) reserve(ctx context.Context, claim Reservation) (Reservation, error) {
	return s.reserves.Do(ctx, claim)
}

// release takes the seat back from the booking if it holds one, leaves a
// tombstone if it has no row yet, and returns its row.
func (s *store) release(ctx context.Context, tombstone Reservation) (Reservation, error) {
	return s.releases.Do(ctx, tombstone)
}

// reserveAll inserts, and where that hit something looks what: the own row, or
// the seat's holder. Were the second step skipped, a concurrent duplicate would
// reject its own reservation.
func (s *store) reserveAll(ctx context.Context, claims []Reservation) ([]Reservation, error) {
	rows, err := database.Resolve(ctx, claims, bookingID,
		func(ctx context.Context, claims []Reservation) ([]Reservation, error) {
			return s.insert(ctx, s.inTheHall(claims))
		},
		s.read,
		func(ctx context.Context, claims []Reservation) ([]Reservation, error) {
			rejected := make([]Reservation, len(claims))
			for i, c := range claims {
				rejected[i] = c.rejected()
			}
			return s.insert(ctx, rejected)
		})
	if err != nil {
		return nil, fmt.Errorf("reserve: %w", err)
	}
	return rows, nil
}

func (s *store) inTheHall(claims []Reservation) []Reservation {
	var inside []Reservation
	for _, c := range claims {
		if c.Seat >= 1 && c.Seat <= s.total {
			inside = append(inside, c)
		}
	}
	return inside
}

// releaseAll updates the rows that hold a seat. A row that is only being
// reserved meanwhile is none of the final ones, and makes the tombstone fail:
// the next round releases it.
func (s *store) releaseAll(ctx context.Context, tombstones []Reservation) ([]Reservation, error) {
	rows, err := database.Resolve(ctx, tombstones, bookingID, s.update, s.readFinal, s.insert)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return rows, nil
}

func bookingID(r Reservation) uuid.UUID { return r.BookingID }

// columns name their table, whose alias SQLite does not know after RETURNING.
const columns = `reservations.booking_id, reservations.seat, reservations.amount, reservations.status, reservations.reason`

func scan(row database.Row) (Reservation, error) {
	var r Reservation
	var amount int64
	err := row.Scan(&r.BookingID, &r.Seat, &amount, &r.Status, &r.Reason)
	r.Amount = tickets.AmountFromMinor(amount)
	return r, err
}

// insert adds rows, in seat order: two replicas that insert the same seats in
// opposite order would deadlock. It returns those that were added.
func (s *store) insert(ctx context.Context, rs []Reservation) ([]Reservation, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	n := len(rs)
	ids, seats, amounts := make([]uuid.UUID, n), make([]int64, n), make([]int64, n)
	statuses, reasons, now := make([]string, n), make([]string, n), make([]int64, n)
	for i, r := range rs {
		ids[i], seats[i], amounts[i] = r.BookingID, int64(r.Seat), r.Amount.Minor()
		statuses[i], reasons[i], now[i] = string(r.Status), r.Reason, time.Now().UnixMicro()
	}
	from, args := s.db.Table(database.Col("booking_id", ids), database.Col("seat", seats), database.Col("amount", amounts),
		database.Col("status", statuses), database.Col("reason", reasons), database.Col("now", now))
	return database.Query(ctx, s.db, scan, `
		INSERT INTO reservations (booking_id, seat, amount, status, reason, created_at, updated_at)
		SELECT booking_id, seat, amount, status, reason, now, now FROM `+from+` WHERE true ORDER BY seat, booking_id
		ON CONFLICT DO NOTHING RETURNING `+columns, args...)
}

// update releases the rows that hold a seat, in the order of their bookings,
// for the same reason.
func (s *store) update(ctx context.Context, tombstones []Reservation) ([]Reservation, error) {
	tombstones = slices.SortedFunc(slices.Values(tombstones), func(a, b Reservation) int {
		return bytes.Compare(a.BookingID[:], b.BookingID[:])
	})
	n := len(tombstones)
	ids, reasons, now := make([]uuid.UUID, n), make([]string, n), make([]int64, n)
	for i, t := range tombstones {
		ids[i], reasons[i], now[i] = t.BookingID, t.Reason, time.Now().UnixMicro()
	}
	from, args := s.db.Table(database.Col("booking_id", ids), database.Col("reason", reasons), database.Col("now", now))
	return database.Query(ctx, s.db, scan, `
		UPDATE reservations SET status = 'released', reason = input.reason, updated_at = input.now
		FROM `+from+` WHERE reservations.booking_id = input.booking_id AND reservations.status = 'reserved'
		RETURNING `+columns, args...)
}

// read returns the rows that are there.
func (s *store) read(ctx context.Context, rs []Reservation) ([]Reservation, error) {
	return s.readWhere(ctx, rs, `true`)
}

// readFinal returns the rows that no longer change.
func (s *store) readFinal(ctx context.Context, rs []Reservation) ([]Reservation, error) {
	return s.readWhere(ctx, rs, `reservations.status <> 'reserved'`)
}

func (s *store) readWhere(ctx context.Context, rs []Reservation, condition string) ([]Reservation, error) {
	ids := make([]uuid.UUID, len(rs))
	for i, r := range rs {
		ids[i] = r.BookingID
	}
	from, args := s.db.Table(database.Col("booking_id", ids))
	return database.Query(ctx, s.db, scan, `SELECT `+columns+` FROM `+from+`
		JOIN reservations ON reservations.booking_id = input.booking_id WHERE `+condition, args...)
}

// reset deletes every reservation.
func (s *store) reset(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM reservations`); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}
