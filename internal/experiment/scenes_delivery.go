package experiment

import (
	"context"
	"fmt"
	"time"

	"boxoffice/internal/client"
)

// confirmedOnce books with a fault, and expects that the booking is Confirmed,
// and charged once.
func (s *Stage) confirmedOnce(ctx context.Context, fault string) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	b, err := s.BookAndWait(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: fault})
	if err != nil {
		return err
	}
	return s.paidOnce(ctx, b)
}

func (s *Stage) paidOnce(ctx context.Context, b client.Booking) error {
	s.Expect(b.Status == "Confirmed", "%s's booking is Confirmed", b.Customer)
	charges, err := s.Charges(ctx, b.ID)
	if err == nil {
		s.Expect(charges == 1, "the bank charged %s once (it did so %d times)", b.Customer, charges)
	}
	return err
}

func redelivery(ctx context.Context, s *Stage) error {
	s.Say("each service will commit, and lose its channel before it publishes and acknowledges")
	return s.confirmedOnce(ctx, "seats.BookingCreated=drop, payments.SeatReserved=drop, booking.PaymentSucceeded=drop")
}

func lostConfirm(ctx context.Context, s *Stage) error {
	s.Say("each service will publish, and lose its channel before it acknowledges")
	return s.confirmedOnce(ctx,
		"seats.BookingCreated=drop-after-publish, payments.SeatReserved=drop-after-publish, booking.PaymentSucceeded=drop-after-publish")
}

func duplicateCharge(ctx context.Context, s *Stage) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	if err := s.Gate(ctx, true); err != nil { // so that both are at the bank together
		return err
	}
	b, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: "seats.BookingCreated=duplicate"})
	if err != nil {
		return err
	}
	if err := s.Pause(ctx, aWhile); err != nil {
		return err
	}
	if err := s.Gate(ctx, false); err != nil {
		return err
	}
	if b, err = s.Outcome(ctx, b); err != nil {
		return err
	}
	return s.paidOnce(ctx, b)
}

func retryBackoff(ctx context.Context, s *Stage) error {
	delays := s.RetryDelays[:min(2, len(s.RetryDelays))]
	var least time.Duration
	for _, d := range delays {
		least += d
	}
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	other, err := s.FreeSeat()
	if err != nil {
		return err
	}
	s.Say("seats will fail %d times; it waits %v, in seats.wait.*", len(delays), delays)
	began := time.Now()
	olena, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: fmt.Sprintf("seats.BookingCreated=fail*%d", len(delays))})
	if err != nil {
		return err
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: other, Amount: "600"})
	if err != nil {
		return err
	}
	if olena, err = s.Outcome(ctx, olena); err != nil {
		return err
	}
	took := time.Since(began)
	s.Expect(olena.Status == "Confirmed" && took >= least,
		"olena is Confirmed by a later attempt, which comes no sooner than its delays (%s; it took %s)", least, took.Round(time.Millisecond))
	s.Expect(maria.Status == "Confirmed" && maria.UpdatedAt.Before(olena.UpdatedAt),
		"maria, who came after her, is not held up (%s before her)", olena.UpdatedAt.Sub(maria.UpdatedAt).Round(time.Millisecond))
	return nil
}

func poison(ctx context.Context, s *Stage) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	b, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: "seats.BookingCreated=poison"})
	if err != nil {
		return err
	}
	letter, err := s.WaitParked(ctx, b)
	if err != nil {
		return err
	}
	if letter == nil {
		s.Expect(false, "the message is parked in seats.BookingCreated.dead")
		return nil
	}
	s.Expect(letter.Queue == "seats.BookingCreated" && letter.BookingID == b.ID && letter.Reason != "",
		"the message is parked in %s.dead: %s", letter.Queue, letter.Reason)
	if b, err = s.Look(ctx, b.ID); err != nil {
		return err
	}
	s.Expect(b.Status == "Pending", "the booking waits for a person: it is Pending")
	s.Say("the cause is fixed: the message is redriven, without its fault script")
	n, err := s.Parked.Redrive(ctx, b.ID)
	if err != nil {
		return err
	}
	s.Expect(n == 1, "one message is redriven, to the queue that failed")
	if b, err = s.Outcome(ctx, b); err != nil {
		return err
	}
	return s.paidOnce(ctx, b)
}
