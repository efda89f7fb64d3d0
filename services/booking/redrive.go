package booking

import (
	"context"

	"go.opentelemetry.io/otel/propagation"

	"boxoffice/internal/lab"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

// redriveBatch bounds how many bookings one look redrives.
const redriveBatch = 100

// redriveOverdue redrives the bookings, of any replica, that are due for it.
// While the broker cannot be published to it spends no claims.
func (s *Service) redriveOverdue(ctx context.Context) error {
	due, err := s.lookOverdue(ctx)
	if err != nil {
		return err
	}
	if s.broker.Ready() != nil {
		return nil //nolint:nilerr // it is no failure of this look; /ready and /stats show it
	}
	for _, o := range due {
		if err := s.redrive(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// lookOverdue counts the stalled bookings and reads those due for a redrive.
func (s *Service) lookOverdue(ctx context.Context) ([]row.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	stalled, err := s.store.Stalled(ctx, s.cfg.RedriveLimit)
	if err != nil {
		return nil, err
	}
	s.counts.stalled.Store(int64(stalled))
	return s.store.Due(ctx, s.cfg.RedriveLimit, redriveBatch)
}

// redrive publishes the first event of an overdue booking again: every service
// repeats its outcome, so that the saga goes on wherever it was lost. If that
// fails, the claim is spent and the next one will do it.
func (s *Service) redrive(ctx context.Context, o row.Order) error {
	claiming, cancel := context.WithTimeout(ctx, store.Timeout)
	mine, err := s.store.Claim(claiming, o)
	cancel()
	if err != nil || !mine {
		return err
	}
	ctx = lab.Without(s.tel.Propagator.Extract(ctx, propagation.MapCarrier(o.Carrier)))
	s.counts.redriven.Add(1)
	s.log.WarnContext(ctx, "redriving an overdue booking", "booking", o.ID, "status", o.Status, "redrive", o.Redrives+1)
	return s.publish(ctx, o)
}
