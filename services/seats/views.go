package seats

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

// errNotFound is the error of looking up a reservation that does not exist.
var errNotFound = errors.New("no such reservation")

// get is one booking's reservation, or errNotFound.
func (s *store) get(ctx context.Context, id uuid.UUID) (Reservation, error) {
	r, err := scan(s.db.QueryRowContext(ctx, `SELECT `+columns+` FROM reservations WHERE booking_id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return r, errNotFound
	}
	if err != nil {
		return r, fmt.Errorf("get reservation: %w", err)
	}
	return r, nil
}

// list is up to limit reservations after a cursor, in the order of their ids.
func (s *store) list(ctx context.Context, after uuid.UUID, limit int) ([]Reservation, error) {
	rs, err := database.Query(ctx, s.db, scan,
		`SELECT `+columns+` FROM reservations WHERE booking_id > $1 ORDER BY booking_id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	return rs, nil
}

// heldSeat is a seat and who holds it.
type heldSeat struct {
	Seat      int       `json:"seat"`
	BookingID uuid.UUID `json:"bookingId"`
}

// highestHeld is the held seat with the highest number; the zero value if no
// seat is held.
func (s *store) highestHeld(ctx context.Context) (h heldSeat, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT seat, booking_id FROM reservations
		WHERE status = 'reserved' ORDER BY seat DESC LIMIT 1`).Scan(&h.Seat, &h.BookingID)
	if errors.Is(err, sql.ErrNoRows) {
		return heldSeat{}, nil
	}
	if err != nil {
		return heldSeat{}, fmt.Errorf("look for the highest held seat: %w", err)
	}
	return h, nil
}

// hall is how many seats are free, and up to limit held ones after a seat, all
// of one moment.
func (s *store) hall(ctx context.Context, after, limit int) (free int, held []heldSeat, err error) {
	taken := 0
	type row struct {
		seat sql.NullInt64
		id   uuid.NullUUID
	}
	rows, err := database.Query(ctx, s.db, func(r database.Row) (row, error) {
		var v row
		err := r.Scan(&taken, &v.seat, &v.id)
		return v, err
	}, `SELECT c.taken, h.seat, h.booking_id
		FROM (SELECT count(*) AS taken FROM reservations WHERE status = 'reserved' AND seat <= $1) AS c
		LEFT JOIN (SELECT seat, booking_id FROM reservations
			WHERE status = 'reserved' AND seat > $2 ORDER BY seat LIMIT $3) AS h ON true
		ORDER BY h.seat`, s.total, after, limit)
	if err != nil {
		return 0, nil, fmt.Errorf("look at the hall: %w", err)
	}
	held = make([]heldSeat, 0, len(rows))
	for _, r := range rows {
		if r.seat.Valid {
			held = append(held, heldSeat{int(r.seat.Int64), r.id.UUID})
		}
	}
	return s.total - taken, held, nil
}
