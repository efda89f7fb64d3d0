package messagingtest

import (
	"context"
	"encoding/json"
	"time"

	"boxoffice/messaging"
)

func successes() []clause {
	return []clause{
		{"events are published, then the delivery is acknowledged", "", eventsThenAck},
		{"no event is a success too", "", nothingToPublish},
		{"handlers run at once", "", handlersRunAtOnce},
		{"a redelivered event repeats its outcome", "", redeliveryRepeatsOutcome},
	}
}

func eventsThenAck(f *fixture) {
	b := f.declared("test")
	e := newIn()
	publisher := Publisher(f, b, Billing, messaging.Instruments{})
	if err := publisher.Publish(f.ctx, e); err != nil {
		f.Fatalf("publish: %v", err)
	}
	stop := f.serve(service{handle: func(_ context.Context, got in) ([]messaging.Event, error) {
		if got != e {
			f.Errorf("the handler got %+v, want %+v", got, e)
		}
		return []messaging.Event{outOf(got)}, nil
	}})
	d := f.next(outQueue)
	stop()
	if d.ID != e.Key()+".ItemReturned" || d.Type != "ItemReturned" || d.AppID != Stock ||
		d.CorrelationID != e.Key() || d.ContentType != "application/json" || time.Since(d.Timestamp) > patience {
		f.Errorf("published %+v", d.Message)
	}
	var got out
	if err := json.Unmarshal(d.Body, &got); err != nil || got != outOf(e) {
		f.Errorf("published %s: %v", d.Body, err)
	}
	f.expectQuiet(b)
	f.expectContents(b, ordersQueue, e.Key()+".PaymentRefused")
}

func nothingToPublish(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	calls := make(chan time.Time, 10)
	stop := f.serve(service{handle: counted(calls, returns(nil))})
	receive(f, calls, "the handler")
	stop()
	f.expectQuiet(b)
	f.expectContents(b, outQueue)
}

func handlersRunAtOnce(f *fixture) {
	b := f.declared("test")
	const n = 10
	for range n {
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	}
	calls, open := make(chan time.Time, n), make(chan struct{})
	stop := f.serve(service{handle: counted(calls, func(ctx context.Context, _ in) ([]messaging.Event, error) {
		select {
		case <-open:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})})
	for range n {
		receive(f, calls, "all handlers to run at once")
	}
	close(open)
	stop()
	f.expectQuiet(b)
}

func redeliveryRepeatsOutcome(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	for range 3 { // as after a crash between publish and ack
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	}
	stop := f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		return []messaging.Event{outOf(e)}, nil
	}})
	id := m.CorrelationID + ".ItemReturned"
	for range 3 {
		if d := f.next(outQueue); d.ID != id {
			f.Errorf("published id %s, want %s each time", d.ID, id)
		}
	}
	stop()
	f.expectQuiet(b)
}
