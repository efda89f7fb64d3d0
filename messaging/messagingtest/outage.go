package messagingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"boxoffice/messaging"
)

func outages() []clause {
	return []clause{
		{"publishing to a stopped broker ends with the context", Outage, publishEndsWithContext},
		{"everything comes back after an outage", Outage, everythingComesBack},
		{"closing ends in time although the broker is gone", Outage, closeWithoutBroker},
	}
}

// shortWhile is a deadline that is meant to pass.
const shortWhile = 200 * time.Millisecond

// outage stops the broker; it is started at the end of the clause at the latest,
// before connections are closed.
func (f *fixture) outage() (start func()) {
	f.Helper()
	start = sync.OnceFunc(f.env.Outage(f.T))
	f.Cleanup(start)
	return start
}

func publishEndsWithContext(f *fixture) {
	b := f.declared("publisher")
	if err := b.Ready(); err != nil {
		f.Errorf("not ready: %v", err)
	}
	start := f.outage()
	ctx, cancel := context.WithTimeout(f.ctx, shortWhile)
	defer cancel()
	if err := b.Publish(ctx, Shop().EventsExchange(), "OrderPlaced", message("lost")); err == nil {
		f.Error("a stopped broker confirmed a message")
	}
	if b.Ready() == nil {
		f.Error("a stopped broker is ready")
	}
	start()
	f.insist(b, message("m"))
	if err := b.Ready(); err != nil {
		f.Errorf("not ready after the outage: %v", err)
	}
	f.drain(placedQueue, []string{"m"})
}

func everythingComesBack(f *fixture) {
	b := f.declared("publisher")
	saw := make(chan string, 100)
	ready, _ := f.observe(f.connect("observer"), messaging.Observation{
		Exchange: Shop().EventsExchange(), Keys: []string{"OrderPlaced"}, See: func(_ string, m messaging.Message) { saw <- m.ID },
	})
	held := make(chan *messaging.Delivery, 1)
	lost := make(chan error, 1)
	got := make(chan string, 100)
	c := f.consume(f.connect("consumer"), placedQueue, 5, func(ctx context.Context, d *messaging.Delivery) {
		if d.ID == "before" && d.Count == 0 {
			held <- d
			<-ctx.Done()
			lost <- d.Settler.Ack()
			return
		}
		_ = d.Settler.Ack() // if that fails it is delivered again
		got <- d.ID
	})
	f.publishAll(b, []string{"before"})
	receive(f, held, "a delivery before the outage")
	start := f.outage()
	if err := receive(f, lost, "the end of the delivery's context"); err == nil {
		f.Error("a stopped broker took an ack")
	}
	var publisher sync.WaitGroup
	publisher.Go(func() { f.insist(b, message("during")) })
	start()
	publisher.Wait()
	missing := map[string]bool{"before": true, "during": true}
	for len(missing) > 0 {
		delete(missing, receive(f, got, "the messages of before and during the outage"))
	}
	receive(f, ready, "the observer to subscribe again")
	f.insist(b, message("after"))
	for receive(f, saw, "the observer to see an event of after the outage") != "after" {
	}
	for receive(f, got, "the message of after the outage") != "after" {
	}
	c.finish()
}

func closeWithoutBroker(f *fixture) {
	b := f.declared("publisher")
	g := f.newGate()
	c := f.consume(b, placedQueue, 1, g.handle)
	f.publishAll(b, []string{"m"})
	g.wait(1)
	start := f.outage()
	defer start()
	published := make(chan error, 1)
	go func() { published <- b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", message("lost")) }()
	ctx, cancel := context.WithTimeout(f.ctx, shortWhile)
	defer cancel()
	if err := b.Publish(ctx, Shop().EventsExchange(), "OrderPlaced", message("lost")); err == nil {
		f.Error("a stopped broker confirmed a message")
	}
	// By now the other Publish has begun, and hangs.
	ctx, cancel = context.WithTimeout(f.ctx, shortWhile)
	defer cancel()
	_ = b.Close(ctx) // whether it says that something was left unconfirmed is its own affair
	if f.ctx.Err() != nil {
		f.Fatal("Close did not return when its context ended")
	}
	if err := receive(f, published, "the running Publish"); err == nil {
		f.Error("a stopped broker confirmed a message")
	}
	c.wait()
	if err := b.Ready(); !errors.Is(err, messaging.ErrClosed) {
		f.Errorf("after closing: ready is %v, want ErrClosed", err)
	}
}
