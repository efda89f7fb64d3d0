package messagingtest

import (
	"context"
	"sync"
	"time"

	"boxoffice/messaging"
)

// consumption is a Consume that runs in the background.
type consumption struct {
	f      *fixture
	queue  string
	stop   func()
	cancel context.CancelFunc
	done   chan struct{}
}

// consume consumes a queue until the clause ends, or finish or abort is called.
func (f *fixture) consume(b messaging.Broker, queue string, prefetch int, handle func(context.Context, *messaging.Delivery)) *consumption {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stop := make(chan struct{})
	c := &consumption{
		f: f, queue: queue, cancel: cancel, done: make(chan struct{}),
		stop: sync.OnceFunc(func() { close(stop) }),
	}
	go func() {
		defer close(c.done)
		err := b.Consume(ctx, messaging.Subscription{Queue: queue, Prefetch: prefetch, Stop: stop, Handle: handle})
		if err != nil {
			f.Errorf("consume %s: %v", queue, err)
		}
	}()
	f.Cleanup(c.abort)
	return c
}

// finish stops gracefully and waits for Consume to return.
func (c *consumption) finish() {
	c.f.Helper()
	c.stop()
	c.wait()
}

// abort ends the context and waits for Consume to return.
func (c *consumption) abort() {
	c.f.Helper()
	c.cancel()
	c.wait()
}

func (c *consumption) wait() {
	c.f.Helper()
	select {
	case <-c.done:
	case <-time.After(patience): // not the clause's context, which has ended in a Cleanup
		c.f.Errorf("Consume of %s does not return", c.queue)
	}
}
