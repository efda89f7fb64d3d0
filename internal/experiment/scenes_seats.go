package experiment

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// tooMuch is above every card's limit, by default.
const tooMuch = "1500"

// cancelled is a booking of ivan's that was declined, and whose seat is free again.
func (s *Stage) cancelled(ctx context.Context) (client.Booking, error) {
	seat, err := s.FreeSeat()
	if err != nil {
		return client.Booking{}, err
	}
	ivan, err := s.BookAndWait(ctx, Order{Customer: "ivan", Seat: seat, Amount: tooMuch})
	switch {
	case err != nil:
	case ivan.Status == "Confirmed":
		err = fmt.Errorf("%w: a booking of %s is not Cancelled but Confirmed; start the services with CARD_LIMIT=1000", ErrCannot, tooMuch)
	case !ivan.Finished() || ivan.Status != "Cancelled":
		err = fmt.Errorf("a booking of %s is not Cancelled, with its seat free again, but %s", tooMuch, ivan.Status)
	}
	return ivan, err
}

func compensation(ctx context.Context, s *Stage) error {
	ivan, err := s.cancelled(ctx)
	if err != nil {
		return err
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: ivan.Seat, Amount: "600"})
	if err != nil {
		return err
	}
	s.Expect(maria.Status == "Confirmed", "maria gets the seat that ivan could not pay")
	charges, err := s.Charges(ctx, ivan.ID)
	s.Expect(err == nil && charges == 0, "ivan was never charged%s", but(charges == 0, "he was, %s", times(charges)))
	return err
}

const crowd = 50

func doubleBooking(ctx context.Context, s *Stage) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	s.Say("%d clients book seat %d at once", crowd, seat)
	answers, errs := make([]Answer, crowd), make([]error, crowd)
	var clients sync.WaitGroup
	for i := range crowd {
		clients.Go(func() {
			answers[i], errs[i] = s.Try(ctx, Order{Customer: fmt.Sprintf("client%d", i+1), Seat: seat, Amount: "450"})
		})
	}
	clients.Wait()
	states := map[string]int{}
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			return errs[i]
		case a.Status != http.StatusAccepted:
			states["refused at the door"]++
			continue
		}
		limited, cancel := context.WithTimeout(ctx, s.Patience)
		b, err := s.booking.Finish(limited, a.Booking)
		cancel()
		if err != nil && ctx.Err() != nil {
			return err
		}
		states[b.Status]++
		if b.Status == "Confirmed" {
			s.shown = append(s.shown, b)
		}
	}
	s.Say("what became of them: %s", counts(states))
	s.Expect(states["Confirmed"] == 1, "exactly one of them is Confirmed%s", but(states["Confirmed"] == 1, "%d are", states["Confirmed"]))
	s.Expect(states["Rejected"]+states["refused at the door"] == crowd-1, "all others are turned down")
	return nil
}

func lateCompensation(ctx context.Context, s *Stage) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	b, err := s.Book(ctx, Order{Customer: "ivan", Seat: seat, Amount: "450", Fault: "seats.BookingCreated=delay:2s"})
	if err != nil {
		return err
	}
	event, err := declined(b)
	if err != nil {
		return err
	}
	if err := s.Publish(ctx, b, tickets.Payments, event, ""); err != nil {
		return err
	}
	first, err := s.SeatsSays(ctx, b, 1)
	if err != nil {
		return err
	}
	s.Expect(first == "SeatReleased", "the release comes first, though nothing was reserved")
	second, err := s.SeatsSays(ctx, b, 2)
	if err != nil {
		return err
	}
	s.Expect(second == "SeatReleased", "the late BookingCreated finds the tombstone, and reserves nothing")
	b, err = s.Outcome(ctx, b)
	s.Expect(b.Status == "Cancelled", "ivan is Cancelled")
	return err
}

func lateDuplicate(ctx context.Context, s *Stage) error {
	ivan, err := s.cancelled(ctx)
	if err != nil {
		return err
	}
	event, err := created(ivan)
	if err != nil {
		return err
	}
	if _, err := s.SeatsSays(ctx, ivan, 2); err != nil {
		return err
	}
	if err := s.Publish(ctx, ivan, tickets.Booking, event, "payments.SeatReserved=delay:5s"); err != nil {
		return err
	}
	after, err := s.SeatsSays(ctx, ivan, 3)
	if err != nil {
		return err
	}
	s.Expect(after == "SeatReleased", "the duplicate finds the released reservation, and reserves nothing")
	if after != "SeatReleased" { // until payments answers as before, and the seat is released once more
		if err := s.now(ctx, ivan.ID); err != nil {
			return err
		}
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: ivan.Seat, Amount: "600"})
	s.Expect(maria.Status == "Confirmed", "maria gets the seat, which is free")
	return err
}

func wrongSeat(ctx context.Context, s *Stage) error {
	ivan, err := s.cancelled(ctx)
	if err != nil {
		return err
	}
	if _, err := s.SeatsSays(ctx, ivan, 2); err != nil {
		return err
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: ivan.Seat, Amount: "600"})
	if err != nil {
		return err
	}
	s.Expect(maria.Status == "Confirmed", "maria has the seat now")
	event, err := declined(ivan)
	if err != nil {
		return err
	}
	if err := s.Publish(ctx, ivan, tickets.Payments, event, ""); err != nil {
		return err
	}
	if _, err := s.SeatsSays(ctx, ivan, 3); err != nil {
		return err
	}
	olena, err := s.BookAndWait(ctx, Order{Customer: "olena", Seat: ivan.Seat, Amount: "450"})
	s.Expect(olena.Status == "Rejected", "the seat is still maria's: olena is turned down")
	return err
}
