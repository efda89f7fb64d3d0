package messagingtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"boxoffice/messaging"
)

func unavailability() []clause {
	return []clause{
		{"Unavailable is held and tried again in place, as no attempt", "", unavailableIsNoAttempt},
		{"a held delivery holds up no other", "", heldHoldsUpNobody},
		{"what cannot be routed is held until it can", "", unroutableIsHeld},
		{"an outage is waited out, and nothing is lost", Outage, outageIsWaitedOut},
		{"a dropped delivery is handled again, as no attempt", DropConnections, dropIsNoAttempt},
	}
}

func unavailableIsNoAttempt(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	calls := make(chan time.Time, 10)
	var n atomic.Int64
	stop := f.serve(service{retryDelays: []time.Duration{noDelayEnd}, handle: counted(calls, func(context.Context, in) ([]messaging.Event, error) {
		if n.Add(1) <= 3 {
			return nil, messaging.Unavailable(errBroken)
		}
		return nil, errBroken // now it is the message's fault: its first attempt
	})})
	for range 4 {
		receive(f, calls, "another try")
	}
	stop()
	queue := Shop().WaitQueue(Stock, noDelayEnd)
	if got := f.first(b, queue).Attempt(); got != 2 {
		f.Errorf("the next attempt is the %dth, want the second", got)
	}
	f.expectQuiet(b, queue)
}

func heldHoldsUpNobody(f *fixture) {
	b := f.declared("test")
	stuck := newIn()
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, stuck))
	calls := make(chan time.Time, 10_000)
	stop := f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		if e.OrderID == stuck.OrderID {
			calls <- time.Now()
			return nil, messaging.Unavailable(errBroken)
		}
		return []messaging.Event{outOf(e)}, nil
	}})
	receive(f, calls, "the stuck delivery")
	for range 5 {
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
		f.next(outQueue)
	}
	stop() // does not wait for the stuck one to succeed
	if d := f.next(stockQueue); d.CorrelationID != stuck.Key() {
		f.Errorf("%s went back", d.ID)
	}
	f.expectQuiet(b)
}

func unroutableIsHeld(f *fixture) {
	b := f.connect("test")
	whole, part := topology(), topology()
	part.Queues = slices.DeleteFunc(slices.Clone(whole.Queues), func(q messaging.Queue) bool { return q.Name == outQueue })
	part.Bindings = slices.DeleteFunc(slices.Clone(whole.Bindings), func(b messaging.Binding) bool { return b.Queue == outQueue })
	if err := b.Declare(f.ctx, part, messaging.TopologyDeclare); err != nil {
		f.Fatalf("declare: %v", err)
	}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	returned := make(chan error, 10_000)
	var calls atomic.Int64
	stop := f.serve(service{
		broker: spy{f.connect(Stock), func(_, key string, err error) {
			if key == "ItemReturned" {
				returned <- err
			}
		}},
		handle: func(_ context.Context, e in) ([]messaging.Event, error) {
			calls.Add(1)
			return []messaging.Event{outOf(e)}, nil
		},
	})
	for range 2 {
		if err := receive(f, returned, "the publish to be tried"); !errors.Is(err, messaging.ErrUnroutable) {
			f.Errorf("publish: %v, want ErrUnroutable", err)
		}
	}
	if err := b.Declare(f.ctx, whole, messaging.TopologyDeclare); err != nil {
		f.Fatalf("declare: %v", err)
	}
	f.next(outQueue)
	stop()
	if n := calls.Load(); n != 1 {
		f.Errorf("the handler ran %d times", n)
	}
	f.expectQuiet(b)
}

func outageIsWaitedOut(f *fixture) {
	b := f.declared("test")
	var want []string
	for range 30 {
		m := wire(f, newIn())
		want = append(want, strings.TrimSuffix(m.ID, "PaymentRefused")+"ItemReturned")
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	}
	calls, open := make(chan time.Time, 1000), make(chan struct{})
	stop := f.serve(service{retryDelays: []time.Duration{shortDelay}, handle: counted(calls, func(_ context.Context, e in) ([]messaging.Event, error) {
		<-open // all are in the middle of it when the broker goes
		return []messaging.Event{outOf(e)}, nil
	})})
	for range want {
		receive(f, calls, "the handlers")
	}
	start := f.outage()
	close(open)
	start()
	f.drain(outQueue, want)
	stop()
	f.expectQuiet(b)
}

func dropIsNoAttempt(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 100)
	var n atomic.Int64
	stop := f.serve(service{retryDelays: []time.Duration{noDelayEnd}, handle: func(ctx context.Context, _ in) ([]messaging.Event, error) {
		call := n.Add(1)
		calls <- time.Now()
		if call <= 2 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, messaging.Permanent(errBroken)
	}})
	for range 2 {
		receive(f, calls, "a delivery")
		f.env.DropConnections(f.T)
	}
	f.expectParked(m.ID, errBroken.Error(), 1)
	stop()
	f.expectQuiet(b)
}
