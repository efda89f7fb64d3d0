package messagingtest

import (
	"context"
	"errors"
	"sync"

	"go.uber.org/goleak"

	"boxoffice/messaging"
)

func closing() []clause {
	return []clause{
		{"closing ends everything, twice if asked, and leaves no goroutine", "", closeLeavesNothing},
		{"after closing every call is ErrClosed", "", closedIsClosed},
		{"closing releases what was being handled", "", closeReleases},
		{"closing waits for outstanding confirms", "", closeWaitsForConfirms},
		{"a connection that was never used closes", "", closeUnused},
	}
}

func closeLeavesNothing(f *fixture) {
	before := goleak.IgnoreCurrent()
	b := f.declared("one")
	if b.System() == "" {
		f.Error("the broker has no name for traces")
	}
	g := f.newGate()
	c := f.consume(b, placedQueue, 5, g.handle)
	_, finish := f.observe(b, messaging.Observation{Exchange: Shop().EventsExchange(), Keys: []string{"#"}, See: func(string, messaging.Message) {}})
	f.publishAll(b, ids("m", 5))
	close(g.open)
	g.wait(5)
	f.close(b)
	c.wait()
	f.close(b)
	var again sync.WaitGroup
	for range 4 {
		again.Go(func() { f.close(b) })
	}
	again.Wait()
	finish() // it has returned already; this waits for the suite's own goroutine
	if err := goleak.Find(before); err != nil {
		f.Errorf("a closed connection leaves %v", err)
	}
}

func closedIsClosed(f *fixture) {
	b := f.declared("one")
	f.close(b)
	calls := map[string]error{
		"Declare": b.Declare(f.ctx, topology(), messaging.TopologyDeclare),
		"Publish": b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", message("m")),
		"Consume": b.Consume(f.ctx, messaging.Subscription{Queue: placedQueue, Prefetch: 1, Handle: func(context.Context, *messaging.Delivery) {}}),
		"Observe": b.Observe(f.ctx, messaging.Observation{Exchange: Shop().EventsExchange(), Keys: []string{"#"}, See: func(string, messaging.Message) {}}),
		"Browse":  b.Browse(f.ctx, placedQueue, func(context.Context, messaging.Message) (bool, error) { return false, nil }),
		"Ready":   b.Ready(),
	}
	for call, err := range calls {
		if !errors.Is(err, messaging.ErrClosed) {
			f.Errorf("%s: %v, want ErrClosed", call, err)
		}
	}
}

func closeReleases(f *fixture) {
	f.publishAll(f.declared("publisher"), []string{"m"})
	b := f.connect("closing")
	g := f.newGate()
	c := f.consume(b, placedQueue, 1, g.handle)
	g.wait(1)
	f.close(b)
	c.wait()
	f.drain(placedQueue, []string{"m"})
}

func closeWaitsForConfirms(f *fixture) {
	b := f.declared("publisher")
	f.declared("another")
	sent := ids("m", 500)
	var mu sync.Mutex
	var confirmed []string
	some := make(chan struct{}, len(sent))
	var running sync.WaitGroup
	for _, id := range sent {
		running.Go(func() {
			err := b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", message(id))
			if err != nil {
				if !errors.Is(err, messaging.ErrClosed) {
					f.Errorf("publish %s: %v, want nil or ErrClosed", id, err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			confirmed = append(confirmed, id)
			some <- struct{}{}
		})
	}
	for range 20 {
		receive(f, some, "the first confirms")
	}
	f.close(b)
	running.Wait()
	f.drain(placedQueue, confirmed)
}

func closeUnused(f *fixture) {
	f.close(f.env.Connect(f.T, "unused"))
}
