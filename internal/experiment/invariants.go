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
	stop := s.waits("until no booking runs any more, %s at most", s.Patience)
	why, err := s.booking.Quiet(ctx, s.Patience, nil)
	stop()
	if err != nil {
		return err
	}
	if why != "" {
		s.Say("it does not come to rest within %s: %s", s.Patience, why)
	}
	if door, err := s.Stats(ctx); err == nil && door.Redriven > s.redriven {
		s.Say("it took longer than the saga deadline, which repairs what is lost: that nothing is now says little (redriven: %d)", door.Redriven-s.redriven)
	}
	var found []verify.Violation
	if why != "" { // what is stuck now, the saga deadline may repair while the queues are waited for
		if found, err = s.violations(ctx, 0); err != nil {
			return err
		}
	}
	stop = s.waits("for the broker's figures of its queues, which are seconds old")
	depths, unknown, err := s.Queues(ctx, time.Now(), time.Now().Add(s.Patience))
	stop()
	if err != nil {
		return err
	}
	if why == "" { // what was still in a queue may have changed the rows
		if found, err = s.violations(ctx, s.Patience); err != nil {
			return err
		}
	}
	found = append(found, verify.CheckQueues(depths)...)
	hold := "hold"
	if len(s.violated) > 0 { // on the way there
		hold = "hold in the end"
	}
	if err := s.nothingParked(ctx); err != nil {
		return err
	}
	for _, v := range found {
		s.violates(v)
	}
	switch {
	case len(found) > 0:
	case unknown != "":
		s.Say("invariants 1 to 4 %s; 5, no message is left, is not checked: %s", hold, unknown)
	default:
		s.Say("invariants 1 to 5 %s", hold)
	}
	return nil
}

func (s *Stage) violates(v verify.Violation) {
	s.Say("BROKEN: %s", v)
	s.breaks(v.String())
	if !slices.Contains(s.violated, v.Invariant) {
		s.violated = append(s.violated, v.Invariant)
		slices.Sort(s.violated)
	}
}

// now tells what is broken of a booking that should be finished, and may be
// mended in the end.
func (s *Stage) now(ctx context.Context, id string) error {
	found, err := s.violations(ctx, 0)
	for _, v := range found {
		if v.BookingID.String() == id {
			s.violates(v)
		}
	}
	return err
}

// violations are those that last, as those of bookings that run do for limit.
func (s *Stage) violations(ctx context.Context, limit time.Duration) ([]verify.Violation, error) {
	_, found, err := verify.Look(ctx, s.take, limit, s.accepted...)
	return found, err
}

func (s *Stage) take(ctx context.Context) (verify.Snapshot, error) {
	return verify.Take(ctx, s.http, s.Targets)
}

// nothingParked expects that of the bookings of this experiment, where it is known.
func (s *Stage) nothingParked(ctx context.Context) error {
	letters, err := s.Parked.List(ctx, "")
	if errors.Is(err, ErrCannot) {
		return nil
	}
	for _, l := range letters {
		if slices.ContainsFunc(s.accepted, func(id uuid.UUID) bool { return id.String() == l.Key }) {
			s.Expect(false, "nothing is left parked, but in %s there is one of booking %s: %s", messaging.DeadQueue(l.Queue), l.Key, l.Reason)
		}
	}
	return err
}
