package experiment

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/verify"
	"boxoffice/messaging"
)

// invariants checks them once nothing runs any more, or patience has ended:
// the saga deadline, which would repair what was lost, is later than that.
func (s *Stage) invariants(ctx context.Context) error {
	if len(s.accepted) > 0 {
		if err := s.sameBroker(ctx, s.accepted[0].String()); err != nil {
			return err
		}
	}
	why, err := s.booking.Quiet(ctx, s.Patience, nil)
	if err != nil {
		return err
	}
	if why != "" {
		s.Say("it does not come to rest within %s: %s", s.Patience, why)
	}
	if door, err := s.Stats(ctx); err == nil && door.Redriven > s.redriven {
		s.Say("it took longer than the saga deadline, which repairs what is lost: that nothing is now says little (redriven: %d)", door.Redriven-s.redriven)
	}
	settled := time.Now()
	first, err := s.violations(ctx)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		again, err := s.violations(ctx)
		if err != nil {
			return err
		}
		first = verify.Lasting(first, again)
	}
	depths, unknown, err := s.Queues(ctx, settled, time.Now().Add(s.Patience))
	if err != nil {
		return err
	}
	first = append(first, verify.CheckQueues(depths)...)
	if err := s.nothingParked(ctx); err != nil {
		return err
	}
	for _, v := range first {
		s.Say("BROKEN: %s", v)
		s.breaks(v.String())
		if !slices.Contains(s.violated, v.Invariant) {
			s.violated = append(s.violated, v.Invariant)
		}
	}
	switch {
	case len(first) > 0:
	case unknown != "":
		s.Say("invariants 1 to 4 hold; 5, no message is left, is not checked: %s", unknown)
	default:
		s.Say("invariants 1 to 5 hold")
	}
	return nil
}

func (s *Stage) violations(ctx context.Context) ([]verify.Violation, error) {
	snapshot, err := verify.Take(ctx, s.http, s.Targets)
	return verify.Check(snapshot, s.accepted...), err
}

// nothingParked expects that of the bookings of this experiment, where it is known.
func (s *Stage) nothingParked(ctx context.Context) error {
	letters, err := s.Parked.List(ctx, "")
	if errors.Is(err, ErrCannot) {
		return nil
	}
	for _, l := range letters {
		if slices.ContainsFunc(s.accepted, func(id uuid.UUID) bool { return id.String() == l.BookingID }) {
			s.Expect(false, "nothing is left parked, but in %s there is one of booking %s: %s", messaging.DeadQueueName(l.Queue), l.BookingID, l.Reason)
		}
	}
	return err
}
