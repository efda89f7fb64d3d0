package store

import (
	"context"
	"fmt"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// Due is up to limit unfinished bookings, of any instance, whose next redrive
// is due and that were redriven fewer than most times.
func (s *Store) Due(ctx context.Context, most, limit int) ([]row.Order, error) {
	now, args := s.clock(most, limit)
	found, err := database.Query(ctx, s.db, scanOrder, `SELECT `+orderColumns(now)+` FROM bookings
		WHERE `+unfinished+` AND redrive_at > 0 AND redrive_at <= `+now+` AND redrives < $1
		ORDER BY redrive_at LIMIT $2`, args...)
	if err != nil {
		return nil, fmt.Errorf("read overdue bookings: %w", err)
	}
	return found, nil
}

// Claim takes the next redrive of an overdue booking, and reports whether no
// other replica was faster. The next one is due after twice the time.
func (s *Store) Claim(ctx context.Context, o row.Order) (bool, error) {
	pause := s.deadline << min(o.Redrives+1, 10)
	now, args := s.clock(o.ID, o.Redrives, pause.Microseconds())
	res, err := s.db.ExecContext(ctx, `UPDATE bookings SET redrives = redrives + 1, redrive_at = `+now+` + $3
		WHERE id = $1 AND redrives = $2 AND `+unfinished, args...)
	if err != nil {
		return false, fmt.Errorf("claim the redrive of booking %s: %w", o.ID, err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Stalled counts the unfinished bookings that are redriven no more.
func (s *Store) Stalled(ctx context.Context, most int) (n int, err error) {
	now, args := s.clock(most)
	err = s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings
		WHERE `+unfinished+` AND redrive_at > 0 AND redrive_at <= `+now+` AND redrives >= $1`, args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count stalled bookings: %w", err)
	}
	return n, nil
}

// Hasten makes this instance's redrives due within a saga deadline. It is for a
// start, which publishes all of these bookings again: the pauses begin anew, and
// none is longer because the clock was set back meanwhile.
func (s *Store) Hasten(ctx context.Context) error {
	now, args := s.clock(s.instance, s.deadline.Microseconds())
	if _, err := s.db.ExecContext(ctx, `UPDATE bookings SET redrive_at = `+now+` + $2
		WHERE `+unfinished+` AND instance = $1 AND redrive_at > `+now+` + $2`, args...); err != nil {
		return fmt.Errorf("bring redrives forward: %w", err)
	}
	return nil
}
