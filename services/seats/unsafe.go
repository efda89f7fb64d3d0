package seats

import (
	"context"
	"errors"
	"fmt"

	"boxoffice/internal/lab"
)

// This file is not part of the service as it should be: it shows what happens
// without one of its safeties, and runs only if the lab says so (UNSAFE).

// releaser is how a failed payment releases a seat.
type releaser func(ctx context.Context, tombstone Reservation) (Reservation, error)

// unsafely is release without a safety.
func (s *store) unsafely(off lab.Unsafe) releaser {
	switch off {
	case lab.NoTombstone:
		return s.releaseAndForget
	case lab.NoOwnerCheck:
		return s.releaseWhoever
	case lab.NoConfirm, lab.AckFirst, lab.RequeueNow: // are not about seats
	}
	return s.release
}

// releaseAndForget deletes the row. Nothing is left that would tell a late
// BookingCreated that its booking has failed.
func (s *store) releaseAndForget(ctx context.Context, tombstone Reservation) (Reservation, error) {
	row, err := s.get(ctx, tombstone.BookingID)
	switch {
	case errors.Is(err, errNotFound):
		return tombstone, nil
	case err != nil || row.Status == Rejected:
		return row, err
	}
	if _, err := s.db.ExecContext(ctx, `DELETE FROM reservations WHERE booking_id = $1`, row.BookingID); err != nil {
		return row, fmt.Errorf("forget the reservation: %w", err)
	}
	row.Status, row.Reason = Released, tombstone.Reason
	return row, nil
}

// releaseWhoever believes the event, and releases the seat that it names.
func (s *store) releaseWhoever(ctx context.Context, tombstone Reservation) (Reservation, error) {
	_, err := s.db.ExecContext(ctx, `UPDATE reservations SET status = 'released', reason = $1
		WHERE seat = $2 AND status = 'reserved'`, tombstone.Reason, tombstone.Seat)
	if err != nil {
		return tombstone, fmt.Errorf("release whoever holds the seat: %w", err)
	}
	return s.release(ctx, tombstone)
}
