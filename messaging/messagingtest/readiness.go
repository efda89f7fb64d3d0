package messagingtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"boxoffice/messaging"
)

func readiness() []clause {
	return []clause{
		{"what cannot be routed shows in Ready until it can", "", unroutableShows},
		{"a queue that is not consumed shows in Consuming", "", unconsumedShows},
		{"an outage shows in Consuming, too", Outage, outageShows},
	}
}

// until waits until a problem is there, or gone.
func (f *fixture) until(problem func() error, there bool) error {
	f.Helper()
	for {
		err := problem()
		if (err != nil) == there {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-f.ctx.Done():
			f.Fatalf("it still says: %v", err)
		}
	}
}

func (f *fixture) tellsSince(err error) {
	f.Helper()
	s, ok := errors.AsType[interface {
		error
		Since() time.Time
	}](err)
	if !ok || s.Since().IsZero() || s.Since().After(time.Now()) {
		f.Errorf("%v does not tell since when", err)
	}
}

func unroutableShows(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("m"))
	if err := b.Ready(); err != nil {
		f.Errorf("not ready: %v", err)
	}
	if err := b.Publish(f.ctx, Shop().EventsExchange(), "Nobody", message("m")); !errors.Is(err, messaging.ErrUnroutable) {
		f.Fatalf("publish: %v", err)
	}
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("n"))
	err := b.Ready()
	if !errors.Is(err, messaging.ErrUnroutable) {
		f.Fatalf("ready says %v, want what could not be routed", err)
	}
	f.tellsSince(err)
	t := messaging.Topology{Bindings: []messaging.Binding{{Exchange: Shop().EventsExchange(), Key: "Nobody", Queue: placedQueue}}}
	if err := b.Declare(f.ctx, t, messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	f.publish(b, Shop().EventsExchange(), "Nobody", message("o"))
	if err := b.Ready(); err != nil {
		f.Errorf("not ready once it can be routed: %v", err)
	}
}

func unconsumedShows(f *fixture) {
	b := f.connect("consumer")
	if err := b.Consuming(); err != nil {
		f.Errorf("nothing is to be consumed: %v", err)
	}
	c := f.consume(b, placedQueue, 1, func(context.Context, *messaging.Delivery) {})
	err := f.until(b.Consuming, true)
	if !strings.Contains(err.Error(), placedQueue) {
		f.Errorf("%v does not name the queue", err)
	}
	f.tellsSince(err)
	f.declared("topology")
	_ = f.until(b.Consuming, false)
	c.finish()
	if err := b.Consuming(); err != nil {
		f.Errorf("nothing is consumed any more: %v", err)
	}
}

func outageShows(f *fixture) {
	b := f.declared("consumer")
	c := f.consume(b, placedQueue, 1, func(context.Context, *messaging.Delivery) {})
	_ = f.until(b.Consuming, false)
	start := f.outage()
	f.tellsSince(f.until(b.Consuming, true))
	start()
	_ = f.until(b.Consuming, false)
	c.finish()
}
