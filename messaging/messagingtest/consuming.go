package messagingtest

import (
	"context"
	"sync/atomic"

	"boxoffice/messaging"
)

func consuming() []clause {
	return []clause{
		{"prefetch is how many handlers run at once", "", prefetchIsReachedAndBounds},
		{"an ack makes room for the next", "", ackMakesRoom},
		{"an acknowledged message is gone, others are not", "", ackSettlesOne},
		{"what is left unsettled comes back when the session ends", "", unsettledComesBack},
		{"a stop is graceful", "", stopIsGraceful},
		{"a stop before the start consumes nothing", "", stopBeforeStart},
		{"the end of the context cancels the handlers and waits for them", "", contextEndsHandlers},
	}
}

// gate is a handler that says when it starts, and acknowledges once it is let through.
type gate struct {
	f       *fixture
	started chan *messaging.Delivery
	open    chan struct{}
}

func (f *fixture) newGate() *gate {
	return &gate{f: f, started: make(chan *messaging.Delivery, 1000), open: make(chan struct{})}
}

func (g *gate) handle(ctx context.Context, d *messaging.Delivery) {
	g.started <- d
	select {
	case <-g.open:
		if err := d.Settler.Ack(); err != nil {
			g.f.Errorf("ack %s: %v", d.ID, err)
		}
	case <-ctx.Done():
	}
}

// wait waits until n handlers have started.
func (g *gate) wait(n int) (started []*messaging.Delivery) {
	g.f.Helper()
	for range n {
		started = append(started, receive(g.f, g.started, "handlers to start"))
	}
	return started
}

func prefetchIsReachedAndBounds(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, ids("m", 12))
	first, second := f.newGate(), f.newGate()
	one := f.consume(f.connect("first"), placedQueue, 5, first.handle)
	first.wait(5) // reached
	two := f.consume(f.connect("second"), placedQueue, 20, second.handle)
	second.wait(7) // all the rest: so the first had no more than its 5
	if n := len(first.started); n != 0 {
		f.Errorf("with a prefetch of 5, %d more handlers ran", n)
	}
	close(first.open)
	close(second.open)
	one.finish()
	two.finish()
	f.expectContents(b, placedQueue)
}

func ackMakesRoom(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 100)
	f.publishAll(b, sent)
	var running, most atomic.Int64
	done := make(chan string, len(sent))
	c := f.consume(b, placedQueue, 3, func(_ context.Context, d *messaging.Delivery) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		running.Add(-1)
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack %s: %v", d.ID, err)
		}
		done <- d.ID
	})
	for range sent {
		receive(f, done, "all messages, three at a time")
	}
	c.finish()
	if most.Load() > 3 {
		f.Errorf("%d handlers ran at once, with a prefetch of 3", most.Load())
	}
}

func ackSettlesOne(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"a", "b", "c"})
	handled := make(chan error, 3)
	c := f.consume(f.connect("consumer"), placedQueue, 3, func(_ context.Context, d *messaging.Delivery) {
		var err error
		if d.ID == "b" {
			err = d.Settler.Ack()
		}
		handled <- err
	})
	for range 3 {
		if err := receive(f, handled, "the handlers"); err != nil {
			f.Errorf("ack: %v", err)
		}
	}
	c.finish()
	f.drain(placedQueue, []string{"a", "c"})
	f.expectContents(b, placedQueue)
}

func unsettledComesBack(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"m"})
	handled := make(chan struct{}, 10)
	c := f.consume(f.connect("forgetful"), placedQueue, 5, func(context.Context, *messaging.Delivery) { handled <- struct{}{} })
	receive(f, handled, "the handler")
	f.expectContents(b, placedQueue) // still held by the session
	c.finish()
	f.drain(placedQueue, []string{"m"})
	if n := len(handled); n != 0 {
		f.Errorf("the session got its own unsettled message %d times more", n)
	}
}

func stopIsGraceful(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 6)
	f.publishAll(b, sent)
	g := f.newGate()
	c := f.consume(f.connect("stopping"), placedQueue, 2, g.handle)
	running := g.wait(2)
	c.stop()
	rest := map[string]bool{}
	for _, id := range sent {
		rest[id] = id != running[0].ID && id != running[1].ID
	}
	other := f.newGate()
	o := f.consume(f.connect("other"), placedQueue, 10, other.handle)
	for _, d := range other.wait(4) { // what the stopped one had not begun
		if !rest[d.ID] {
			f.Errorf("%s was delivered to both", d.ID)
		}
	}
	close(g.open) // its handlers run on and may still acknowledge
	c.wait()
	close(other.open)
	o.finish()
	if n := len(g.started); n != 0 {
		f.Errorf("%d handlers began after the stop", n)
	}
	f.expectContents(b, placedQueue)
}

func stopBeforeStart(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"m"})
	stop := make(chan struct{})
	close(stop)
	err := b.Consume(f.ctx, messaging.Subscription{
		Queue: placedQueue, Prefetch: 1, Stop: stop,
		Handle: func(context.Context, *messaging.Delivery) { f.Error("a stopped Consume delivered") },
	})
	if err != nil {
		f.Errorf("consume: %v", err)
	}
	f.drain(placedQueue, []string{"m"})
}

func contextEndsHandlers(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"m"})
	started, ended := make(chan struct{}), make(chan struct{})
	letGo := make(chan struct{})
	c := f.consume(f.connect("consumer"), placedQueue, 1, func(ctx context.Context, _ *messaging.Delivery) {
		close(started)
		<-ctx.Done()
		close(ended)
		<-letGo
	})
	receive(f, started, "the handler")
	c.cancel()
	receive(f, ended, "the end of the handler's context")
	select {
	case <-c.done:
		f.Error("Consume returned while a handler was running")
	default:
	}
	close(letGo)
	c.wait()
	f.drain(placedQueue, []string{"m"})
}
