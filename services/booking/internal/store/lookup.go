package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/row"
)

// ByKey is the booking that was made with an Idempotency-Key, or nil.
func (s *Store) ByKey(ctx context.Context, key string) (*row.Booking, error) {
	return s.keys.Do(ctx, key)
}

func (s *Store) byKeys(ctx context.Context, keys []string) ([]*row.Booking, error) {
	from, args := s.db.Table(database.Col("wanted", keys))
	type keyed struct {
		key string
		row.Booking
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
	byKey := make(map[string]*row.Booking, len(found))
	for _, k := range found {
		byKey[k.key] = &k.Booking
	}
	all := make([]*row.Booking, len(keys))
	for i, key := range keys {
		all[i] = byKey[key]
	}
	return all, nil
}

// IsWritten reports whether a booking has a row.
func (s *Store) IsWritten(ctx context.Context, id uuid.UUID) (bool, error) {
	return s.lookups.Do(ctx, id)
}

func (s *Store) areWritten(ctx context.Context, ids []uuid.UUID) ([]bool, error) {
	found, err := s.written(ctx, ids)
	if err != nil {
		return nil, err
	}
	return among(ids, found), nil
}

// written is which of the bookings have a row.
func (s *Store) written(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	return s.which(ctx, ids, `true`)
}

// Decided is which of the bookings are no longer Pending.
func (s *Store) Decided(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	return s.which(ctx, ids, `bookings.status <> 'Pending'`)
}

func (s *Store) which(ctx context.Context, ids []uuid.UUID, condition string) ([]uuid.UUID, error) {
	from, args := s.db.Table(database.Col("id", ids))
	found, err := database.Query(ctx, s.db, scanID, `SELECT bookings.id FROM bookings JOIN `+from+`
		ON bookings.id = input.id WHERE `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("look up bookings: %w", err)
	}
	return found, nil
}

// Over is which of the bookings are no longer Pending, or no longer there.
func (s *Store) Over(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	from, args := s.db.Table(database.Col("id", ids))
	found, err := database.Query(ctx, s.db, scanID, `SELECT input.id FROM `+from+`
		LEFT JOIN bookings ON bookings.id = input.id WHERE bookings.id IS NULL OR bookings.status <> 'Pending'`, args...)
	if err != nil {
		return nil, fmt.Errorf("look up bookings: %w", err)
	}
	return found, nil
}

func scanID(r database.Row) (id uuid.UUID, err error) {
	err = r.Scan(&id)
	return id, err
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
