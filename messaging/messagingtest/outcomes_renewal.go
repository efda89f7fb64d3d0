package messagingtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"boxoffice/messaging"
)

func renewals() []clause {
	return []clause{
		{"channels that are lost more often than the limit park nobody, if the lab says so", "", renewalParksNobody},
		{"and park the message, if it does not", "", limitStaysInForce},
		{"without delays there is nowhere to wait, and nothing is renewed", "", noRenewalWithoutDelays},
	}
}

var errLost = messaging.Unavailable(errors.New("the channel was lost on purpose"))

func renewalParksNobody(f *fixture) {
	b := f.declared("test")
	bad, innocent := newIn(), newIn()
	const losses = messaging.WorkDeliveryLimit + 5
	inFlight := make(chan struct{}, 10*losses) // the innocent one, once per delivery
	over := make(chan struct{})
	var most atomic.Int64
	f.serve(service{
		retryDelays: []time.Duration{shortDelay}, renewAfter: messaging.WorkDeliveryLimit / 2,
		handle: func(_ context.Context, e in) ([]messaging.Event, error) { return []messaging.Event{outOf(e)}, nil },
		middleware: []messaging.Middleware{func(next messaging.HandleFunc) messaging.HandleFunc {
			return func(ctx context.Context, d *messaging.Delivery, e messaging.Event) ([]messaging.Event, error) {
				switch {
				case e.Key() == innocent.Key():
					most.Store(max(most.Load(), int64(d.Delivered())))
					inFlight <- struct{}{}
					select {
					case <-over:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				case d.Delivered() < losses:
					receive(f, inFlight, "the innocent message")
					d.Settler.Lose()
					return nil, errLost
				default:
					close(over)
				}
				return next(ctx, d, e)
			}
		}},
	})
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, innocent))
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, bad))
	done := map[string]bool{}
	for len(done) < 2 {
		done[f.next(outQueue).CorrelationID] = true
	}
	if !done[bad.Key()] || !done[innocent.Key()] {
		f.Errorf("done are %v", done)
	}
	if n := most.Load(); n < losses {
		f.Errorf("the innocent message came back %d times, and there were %d losses", n, losses)
	}
	f.expectContents(b, deadQueue)
}

func limitStaysInForce(f *fixture) {
	b := f.declared("test")
	deadly := wire(f, newIn())
	var deliveries atomic.Int64
	f.serve(service{
		retryDelays: []time.Duration{shortDelay}, handle: returns(errLost),
		middleware: []messaging.Middleware{func(messaging.HandleFunc) messaging.HandleFunc {
			return func(_ context.Context, d *messaging.Delivery, _ messaging.Event) ([]messaging.Event, error) {
				deliveries.Add(1)
				d.Settler.Lose()
				return nil, errLost
			}
		}},
	})
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", deadly)
	if got := f.next(deadQueue); got.ID != deadly.ID {
		f.Errorf("parked %s, want %s", got.ID, deadly.ID)
	}
	if n := deliveries.Load(); n < messaging.WorkDeliveryLimit || n > messaging.WorkDeliveryLimit+1 {
		f.Errorf("it was delivered %d times, with a limit of %d", n, messaging.WorkDeliveryLimit)
	}
	f.expectContents(b, stockQueue)
}

func noRenewalWithoutDelays(f *fixture) {
	b := f.declared("test")
	e := newIn()
	const losses = 3
	f.serve(service{
		handle:     func(context.Context, in) ([]messaging.Event, error) { return []messaging.Event{outOf(e)}, nil },
		renewAfter: 1,
		middleware: []messaging.Middleware{func(next messaging.HandleFunc) messaging.HandleFunc {
			return func(ctx context.Context, d *messaging.Delivery, e messaging.Event) ([]messaging.Event, error) {
				if d.Count < losses {
					d.Settler.Lose()
					return nil, errLost
				}
				return next(ctx, d, e)
			}
		}},
	})
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, e))
	if got := f.next(outQueue); got.CorrelationID != e.Key() {
		f.Errorf("got the outcome of %s", got.CorrelationID)
	}
}
