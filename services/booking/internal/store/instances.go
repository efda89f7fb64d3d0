package store

import (
	"context"
	"fmt"
	"time"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// Seen notes that this replica is alive, and returns when that is by the clock
// of the store.
func (s *Store) Seen(ctx context.Context) (time.Time, error) {
	// What was not seen for a day had its bookings taken over long ago.
	now, args := s.clock((24 * time.Hour).Microseconds())
	if _, err := s.db.ExecContext(ctx, `DELETE FROM instances WHERE seen_at < `+now+` - $1`, args...); err != nil {
		return time.Time{}, fmt.Errorf("forget replicas: %w", err)
	}
	now, args = s.clock(s.instance)
	var at int64
	err := s.db.QueryRowContext(ctx, `INSERT INTO instances (instance, seen_at) VALUES ($1, `+now+`)
		ON CONFLICT (instance) DO UPDATE SET seen_at = excluded.seen_at RETURNING seen_at`, args...).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("note that this replica is alive: %w", err)
	}
	return time.UnixMicro(at), nil
}

// abandoned is what waits at a replica, not $1, that was not seen for $2; nor is
// one alive that was seen so far in the future. A row that another replica takes
// over meanwhile is abandoned no more.
func abandoned(now string) string {
	return unfinished + ` AND started_at = 0 AND instance <> $1 AND instance NOT IN
		(SELECT instance FROM instances WHERE seen_at BETWEEN ` + now + ` - $2 AND ` + now + ` + $2)`
}

// CountAbandoned is how many bookings TakeOver would find.
func (s *Store) CountAbandoned(ctx context.Context) (n int, err error) {
	now, args := s.clock(s.instance, s.deadline.Microseconds())
	err = s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings WHERE `+abandoned(now), args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count waiting bookings of others: %w", err)
	}
	return n, nil
}

// TakeOver makes up to most bookings this replica's that wait at one that was
// not seen for a saga deadline, oldest first, and returns them.
func (s *Store) TakeOver(ctx context.Context, most int) ([]row.Order, error) {
	now, args := s.clock(s.instance, s.deadline.Microseconds(), most)
	taken, err := database.Query(ctx, s.db, scanOrder, `UPDATE bookings SET instance = $1
		WHERE `+abandoned(now)+` AND id IN (SELECT id FROM bookings WHERE `+abandoned(now)+` ORDER BY id LIMIT $3)
		RETURNING `+orderColumns(now), args...)
	if err != nil {
		return nil, fmt.Errorf("take over waiting bookings: %w", err)
	}
	return taken, nil
}
