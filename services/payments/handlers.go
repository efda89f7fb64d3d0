package payments

import (
	"context"

	"boxoffice/internal/database"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func (s *Service) seatReserved(ctx context.Context, e tickets.SeatReserved) ([]messaging.Event, error) {
	p, err := s.pay(ctx, e)
	if err != nil {
		return nil, storeError(err)
	}
	if !p.agrees(e) {
		s.log.WarnContext(ctx, "SeatReserved disagrees with the payment, which stays as it is",
			"booking", p.BookingID, "seat", p.Seat, "amount", p.Amount.String(), "status", p.Status, "event", e)
	}
	return []messaging.Event{p.outcome()}, nil
}

// pay is the booking's payment: the recorded one, else what the bank says now.
// A crash after the charge and before the record is harmless, because the bank
// gives the same answer again. So a bank that costs no time need not be spared:
// then the insert alone finds what is recorded.
func (s *Service) pay(ctx context.Context, e tickets.SeatReserved) (Payment, error) {
	if s.bank.looks {
		known, err := s.store.find(ctx, e.BookingID)
		if err != nil || known != nil {
			return orZero(known), err
		}
	}
	entry, err := s.bank.charge(ctx, e.BookingID, e.Amount)
	if err != nil {
		return Payment{}, err
	}
	return s.store.record(ctx, payment(e, entry))
}

// storeError says who is to blame: a store that cannot work, or a bank that
// does not answer, holds the delivery; only data that a store refuses counts
// against the message.
func storeError(err error) error {
	if database.BlamesRow(err) {
		return err
	}
	return messaging.Unavailable(err)
}
