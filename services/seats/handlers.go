package seats

import (
	"context"

	"boxoffice/internal/database"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func (s *Service) bookingCreated(ctx context.Context, e tickets.BookingCreated) ([]messaging.Event, error) {
	r, err := s.store.reserve(ctx, claim(e))
	if err != nil {
		return nil, storeError(err)
	}
	if !r.agrees(e.Seat, e.Amount) {
		s.disagrees(ctx, r, e)
	}
	return []messaging.Event{r.outcome()}, nil
}

func (s *Service) paymentFailed(ctx context.Context, e tickets.PaymentFailed) ([]messaging.Event, error) {
	r, err := s.release(ctx, tombstone(e))
	if err != nil {
		return nil, storeError(err)
	}
	if !r.agrees(e.Seat, r.Amount) || r.Status == Rejected {
		s.disagrees(ctx, r, e)
	}
	if r.Status == Rejected {
		return nil, nil // it never held a seat
	}
	return []messaging.Event{r.outcome()}, nil
}

// disagrees logs that an event is not about what the row says; the row wins.
func (s *Service) disagrees(ctx context.Context, r Reservation, e messaging.Event) {
	s.log.WarnContext(ctx, messaging.EventName(e)+" disagrees with the reservation, which stays as it is",
		"booking", r.BookingID, "seat", r.Seat, "amount", r.Amount.String(), "status", r.Status, "event", e)
}

// storeError says who is to blame: a store that cannot work holds the
// delivery, and only data that it refuses counts against the message.
func storeError(err error) error {
	if database.BlamesRow(err) {
		return err
	}
	return messaging.Unavailable(err)
}
