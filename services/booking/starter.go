package booking

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"boxoffice/internal/incident"
	"boxoffice/internal/lab"
	"boxoffice/internal/retry"
	"boxoffice/services/booking/internal/row"
)

// starter begins sagas: it publishes the BookingCreated of each order that the
// door hands over, from its row, and keeps at it until the broker has confirmed it.
type starter struct {
	mu     sync.Mutex
	orders []row.Order
	wake   chan struct{}
	slots  chan struct{} // one for each that is being started

	unstarted atomic.Int64 // given up when the service stopped
}

// Unfinished returns how many accepted bookings a stopping service had begun to
// start and gave up. Nothing is lost: their rows start them after a restart.
func (s *Service) Unfinished() int { return int(s.starter.unstarted.Load()) }

// newStarter starts so many at a time: as many as the door lets run, and the
// rest of what a restart finds one after the other.
func newStarter(atATime int) *starter {
	return &starter{wake: make(chan struct{}, 1), slots: make(chan struct{}, atATime)}
}

// add takes note of an order that is to be started. The door, which bounds how
// many there are, calls it while it is locked.
func (s *starter) add(o row.Order) {
	s.mu.Lock()
	s.orders = append(s.orders, o)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *starter) take() []row.Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders := s.orders
	s.orders = nil
	return orders
}

// run starts orders with begin, each on a goroutine of its own, until ctx
// ends, and returns when none is left running. What is not started by then is
// started from its row after a restart.
func (s *starter) run(ctx context.Context, begin func(context.Context, row.Order)) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, o := range s.take() {
			select {
			case s.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			running.Go(func() {
				defer func() { <-s.slots }()
				begin(ctx, o)
			})
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// notStarting returns the condition that the broker or the database is away.
func notStarting() incident.Condition {
	return incident.Condition{Begins: "sagas cannot be started; trying again", Ends: "sagas are started again"}
}

// begin notes the start of an order in its row and publishes its first event,
// for as long as it takes. It is safe to repeat.
func (s *Service) begin(ctx context.Context, o row.Order) {
	ctx = s.tel.Propagator.Extract(ctx, propagation.MapCarrier(o.Carrier))
	if o.Again {
		ctx = lab.Without(ctx)
	}
	failed := func(err error, _ time.Duration) { s.incidents.Report(ctx, notStarting(), err, "booking", o.ID) }
	err := retry.Telling(ctx, failed, func(ctx context.Context) error {
		if !o.Started { // it waited: its row does not know yet
			mine, err := s.store.Start(ctx, o)
			if err != nil {
				return err
			}
			if !mine {
				s.door.GiveBack(o.ID)
				return nil
			}
		}
		return s.publish(ctx, o)
	})
	if err != nil {
		s.starter.unstarted.Add(1)
	}
}

// publishTimeout bounds one try at publishing.
const publishTimeout = 30 * time.Second

// publish publishes the first event of an order.
func (s *Service) publish(ctx context.Context, o row.Order) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	return s.Publisher.Publish(ctx, o.Created())
}
