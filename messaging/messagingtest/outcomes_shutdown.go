package messagingtest

import (
	"context"
	"time"

	"boxoffice/messaging"
)

func shutdowns() []clause {
	return []clause{
		{"running handlers may finish", "", runningMayFinish},
		{"after the grace nothing is settled", "", graceEnds},
		{"a held delivery is released at once", "", heldIsReleased},
	}
}

func runningMayFinish(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	calls, open := make(chan time.Time, 10), make(chan struct{})
	stop := f.serve(service{handle: counted(calls, func(ctx context.Context, e in) ([]messaging.Event, error) {
		<-open
		return []messaging.Event{outOf(e)}, ctx.Err()
	})})
	receive(f, calls, "the handler")
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	select {
	case <-stopped:
		f.Error("the service stopped under a running handler")
	default:
	}
	close(open)
	receive(f, stopped, "the service to stop")
	f.next(outQueue)
	f.expectQuiet(b)
}

func graceEnds(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	stop := f.serve(service{
		grace: shortDelay, retryDelays: []time.Duration{shortDelay},
		handle: counted(calls, func(ctx context.Context, _ in) ([]messaging.Event, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	})
	receive(f, calls, "the handler")
	stop()
	if d := f.next(stockQueue); d.ID != m.ID || d.Attempt() != 1 {
		f.Errorf("%s went back in attempt %d", d.ID, d.Attempt())
	}
	f.expectQuiet(b)
}

func heldIsReleased(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 1000)
	stop := f.serve(service{handle: counted(calls, returns(messaging.Unavailable(errBroken)))}) // its grace is all our patience
	receive(f, calls, "the handler")
	began := time.Now()
	stop()
	if took := time.Since(began); took >= patience {
		f.Errorf("stopping took %v", took)
	}
	f.next(stockQueue)
	f.expectQuiet(b)
}
