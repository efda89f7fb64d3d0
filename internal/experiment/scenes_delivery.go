package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boxoffice/internal/client"
	"boxoffice/messaging"
	"boxoffice/tickets"
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
		s.Expect(charges == 1, "the bank charged %s once%s", b.Customer, but(charges == 1, "so far: %s", times(charges)))
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
	next, err := s.FreeSeat()
	if err != nil {
		return err
	}
	for _, d := range delays {
		s.queues = append(s.queues, tickets.WaitQueue(tickets.Seats, d))
	}
	s.Say("seats will fail %s; the event waits outside its queue for %s", times(len(delays)), inOrder(delays))
	began := time.Now()
	olena, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: fmt.Sprintf("seats.BookingCreated=fail*%d", len(delays))})
	if err != nil {
		return err
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: next, Amount: "600"})
	if err != nil {
		return err
	}
	if olena, err = s.Outcome(ctx, olena); err != nil {
		return err
	}
	took := time.Since(began)
	late, other := took >= least, ""
	if !late && !s.Own {
		other = "; if the services have other RETRY_DELAYS, --retry-delays says so"
	}
	what := fmt.Sprintf("olena is Confirmed by a later attempt, no sooner than after her delays, %s in all", least)
	if olena.Status != "Confirmed" {
		s.Expect(false, "%s", what)
		return nil
	}
	s.Expect(late, "%s (it took %s%s)", what, short(took), other)
	ahead := olena.UpdatedAt.Sub(maria.UpdatedAt)
	s.Expect(maria.Status == "Confirmed" && ahead > 0, "maria, who came after her, is not held up%s", aheadOf(ahead))
	return nil
}

func aheadOf(d time.Duration) string {
	if d > 0 {
		return " (she was Confirmed " + short(d) + " before)"
	}
	return " (she was Confirmed " + short(-d) + " after)"
}

func poison(ctx context.Context, s *Stage) error {
	if err := s.canLook(ctx); err != nil {
		return err
	}
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	b, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450", Fault: "seats.BookingCreated=poison"})
	if err != nil {
		return err
	}
	const mend = "the message is redriven, without its fault script"
	s.owe(mend, func(ctx context.Context) error {
		ok, err := s.Until(ctx, mending/2, func(ctx context.Context) (bool, error) { // it may be on its way there
			n, err := s.Parked.Redrive(ctx, b.ID)
			return n > 0, err
		})
		if err == nil && !ok {
			err = errors.New("it was not parked within " + short(mending/2))
		}
		return err
	})
	letter, err := s.WaitParked(ctx, b)
	if err != nil {
		return err
	}
	if letter == nil {
		s.Expect(false, "the message is parked in seats.BookingCreated.dead")
		return nil
	}
	s.Expect(letter.Queue == "seats.BookingCreated" && letter.Key == b.ID && letter.Reason != "",
		"the message is parked in %s, with its reason (%s)", messaging.DeadQueue(letter.Queue), letter.Reason)
	if b, err = s.Look(ctx, b.ID); err != nil {
		return err
	}
	s.Expect(b.Status == "Pending", "the booking waits for a person: it is Pending")
	s.Say("the cause is fixed: %s", mend)
	n, err := s.Parked.Redrive(ctx, b.ID)
	if err != nil {
		return err
	}
	s.paid(mend)
	s.Expect(n == 1, "one message is redriven, to the queue that failed%s", but(n == 1, "%d were", n))
	if b, err = s.Outcome(ctx, b); err != nil {
		return err
	}
	return s.paidOnce(ctx, b)
}
