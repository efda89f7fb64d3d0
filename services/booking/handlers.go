package booking

import (
	"context"
	"fmt"

	"boxoffice/internal/database"
	"boxoffice/messaging"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

func (s *Service) paymentSucceeded(ctx context.Context, e tickets.PaymentSucceeded) ([]messaging.Event, error) {
	return nil, s.settle(ctx, row.Outcome{ID: e.BookingID, Status: Confirmed})
}

func (s *Service) paymentFailed(ctx context.Context, e tickets.PaymentFailed) ([]messaging.Event, error) {
	return nil, s.settle(ctx, row.Outcome{ID: e.BookingID, Status: Cancelled, Reason: e.Reason})
}

func (s *Service) seatRejected(ctx context.Context, e tickets.SeatRejected) ([]messaging.Event, error) {
	return nil, s.settle(ctx, row.Outcome{ID: e.BookingID, Status: Rejected, Reason: e.Reason})
}

func (s *Service) seatReleased(ctx context.Context, e tickets.SeatReleased) ([]messaging.Event, error) {
	return nil, s.settle(ctx, row.Outcome{ID: e.BookingID, Status: Cancelled, Reason: e.Reason, Released: true})
}

// settle commits an outcome, then frees the booking's place in the door.
func (s *Service) settle(ctx context.Context, o row.Outcome) error {
	done, err := s.store.Settle(ctx, o)
	switch {
	case err != nil && !database.BlamesRow(err):
		return messaging.Unavailable(err)
	case err != nil:
		return err
	case !done.Known:
		return messaging.Permanent(fmt.Errorf("unknown booking %s", o.ID))
	}
	if done.Was.Status == Pending {
		s.counts.settled(o.Status)
		s.metrics.saga(ctx, o.Status, done.ChangedAt.Sub(done.CreatedAt))
		s.waiters.wake(o.ID, &done)
		s.log.InfoContext(ctx, string(o.Status), "booking", o.ID)
	} else { // it has ended already: here, at another replica, or by a commit of ours that was never answered
		s.waiters.wake(o.ID, nil)
	}
	if done.Verdict == row.Contradicts {
		s.counts.conflicts.Add(1)
		s.log.WarnContext(ctx, "an outcome contradicts the booking's, which stays as it is",
			"booking", o.ID, "status", done.Was.Status, "contradiction", o.Status)
	}
	s.door.Finish(o.ID)
	return nil
}
