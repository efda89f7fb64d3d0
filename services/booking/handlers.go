package booking

import (
	"context"
	"fmt"

	"boxoffice/internal/database"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func (s *Service) paymentSucceeded(ctx context.Context, e tickets.PaymentSucceeded) ([]messaging.Event, error) {
	return nil, s.settle(ctx, outcome{id: e.BookingID, status: Confirmed})
}

func (s *Service) paymentFailed(ctx context.Context, e tickets.PaymentFailed) ([]messaging.Event, error) {
	return nil, s.settle(ctx, outcome{id: e.BookingID, status: Cancelled, reason: e.Reason})
}

func (s *Service) seatRejected(ctx context.Context, e tickets.SeatRejected) ([]messaging.Event, error) {
	return nil, s.settle(ctx, outcome{id: e.BookingID, status: Rejected, reason: e.Reason})
}

func (s *Service) seatReleased(ctx context.Context, e tickets.SeatReleased) ([]messaging.Event, error) {
	return nil, s.settle(ctx, outcome{id: e.BookingID, status: Cancelled, reason: e.Reason, released: true})
}

// settle commits an outcome, then frees the booking's place in the door.
func (s *Service) settle(ctx context.Context, o outcome) error {
	done, err := s.store.settle(ctx, o)
	switch {
	case err != nil && !database.BlamesRow(err):
		if !database.NotCommitted(err) && s.door.holds(o.id) { // else its outcome was counted
			s.unsure.add(o.id)
		}
		return messaging.Unavailable(err)
	case err != nil:
		return err
	case !done.known:
		return messaging.Permanent(fmt.Errorf("unknown booking %s", o.id))
	}
	ours := s.unsure.remove(o.id)
	switch {
	case done.verdict == contradicts:
		s.counts.conflicts.Add(1)
		s.log.WarnContext(ctx, "an outcome contradicts the booking's, which stays as it is",
			"booking", o.id, "status", done.was.status, "contradiction", o.status)
	case ours && done.was.status != Pending: // our own commit, whose answer was lost
		s.counts.settled(done.was.status)
		s.waiters.wake(o.id, nil)
	case done.verdict == changes && done.was.status == Pending:
		s.counts.settled(o.status)
		s.metrics.saga(ctx, o.status, done.changedAt.Sub(done.createdAt))
		s.waiters.wake(o.id, &done)
		s.log.InfoContext(ctx, string(o.status), "booking", o.id)
	}
	s.starter.add(s.door.finish(o.id)...)
	return nil
}
