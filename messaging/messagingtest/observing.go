package messagingtest

import (
	"context"
	"slices"
	"sync"

	"boxoffice/messaging"
)

func observing() []clause {
	return []clause{
		{"an observer sees the events it asked for, from now on", "", observerSeesItsEvents},
		{"an observer of everything sees events only, and takes nothing from the services", "", observerTakesNothing},
		{"an observer comes back after a drop", DropConnections, observerComesBack},
		{"a slow observer loses the oldest and holds up nobody", "", slowObserverIsBounded},
	}
}

type seen struct{ key, id string }

// observe observes in the background and returns once it is subscribed.
func (f *fixture) observe(b messaging.Broker, o messaging.Observation) (ready <-chan struct{}, finish func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	subscribed := make(chan struct{}, 1000)
	o.Ready = func() { subscribed <- struct{}{} }
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Observe(ctx, o); err != nil {
			f.Errorf("observe: %v", err)
		}
	})
	finish = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	f.Cleanup(finish)
	receive(f, subscribed, "the observer to subscribe")
	return subscribed, finish
}

func observerSeesItsEvents(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("before"))
	saw := make(chan seen, 100)
	see := func(key string, m messaging.Message) { saw <- seen{key, m.ID + ": " + string(m.Body)} }
	_, finish := f.observe(f.connect("observer"), messaging.Observation{Exchange: Shop().EventsExchange(), Keys: []string{"ItemReserved", "PaymentRefused"}, See: see})
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("unasked"))
	f.publish(b, Shop().EventsExchange(), "ItemReserved", message("1"))
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("2"))
	for _, want := range []seen{{"ItemReserved", "1: body of 1"}, {"PaymentRefused", "2: body of 2"}} {
		if got := receive(f, saw, "an event"); got != want {
			f.Errorf("saw %v, want %v", got, want)
		}
	}
	finish()
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("after"))
	if n := len(saw); n != 0 {
		f.Errorf("saw %d messages too many: %v", n, <-saw)
	}
}

func observerTakesNothing(f *fixture) {
	b := f.declared("publisher")
	saw := [2]chan seen{make(chan seen, 100), make(chan seen, 100)}
	for i := range saw {
		f.observe(b, messaging.Observation{Exchange: Shop().EventsExchange(), Keys: []string{"#"}, See: func(key string, m messaging.Message) {
			for i := range m.Body {
				m.Body[i] = '!'
			}
			saw[i] <- seen{key, m.ID}
		}})
	}
	f.publish(b, Shop().RedeliverExchange(), messaging.RedriveKey(placedQueue), message("no event"))
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("one"))
	for i := range saw {
		if got := receive(f, saw[i], "the event"); got != (seen{"PaymentRefused", "one"}) {
			f.Errorf("observer %d saw %v", i, got)
		}
	}
	for _, queue := range []string{ordersQueue, stockQueue} {
		if d := f.next(queue); d.ID != "one" || string(d.Body) != "body of one" {
			f.Errorf("%s got %s: %q", queue, d.ID, d.Body)
		}
	}
}

func observerComesBack(f *fixture) {
	b := f.declared("publisher")
	saw := make(chan seen, 100)
	ready, _ := f.observe(f.connect("observer"), messaging.Observation{
		Exchange: Shop().EventsExchange(), Keys: []string{"*"}, See: func(key string, m messaging.Message) { saw <- seen{key, m.ID} },
	})
	f.env.DropConnections(f.T)
	receive(f, ready, "the observer to subscribe again")
	f.insist(b, message("after"))
	if got := receive(f, saw, "an event after the drop"); got != (seen{"OrderPlaced", "after"}) {
		f.Errorf("saw %v", got)
	}
}

func slowObserverIsBounded(f *fixture) {
	b := f.declared("publisher")
	const buffer = 8
	sent := ids("m", 400)
	looking, look := make(chan struct{}, len(sent)), make(chan struct{})
	last := make(chan struct{})
	var got []string // by See alone, until last is closed
	f.observe(f.connect("observer"), messaging.Observation{
		Exchange: Shop().EventsExchange(), Keys: []string{"OrderPlaced"}, Buffer: buffer,
		See: func(_ string, m messaging.Message) {
			got = append(got, m.ID)
			looking <- struct{}{}
			<-look
			if m.ID == sent[len(sent)-1] {
				close(last)
			}
		},
	})
	f.publishAll(b, sent[:1])
	receive(f, looking, "the observer to look")
	f.publishAll(b, sent[1:]) // confirmed although it still looks
	close(look)
	receive(f, last, "the newest event")
	if !slices.IsSorted(got) {
		f.Errorf("it saw events out of order: %v", got)
	}
	// One is being looked at and 8 wait. Some may still have been on their way
	// when it began to look again, but by far not half of them.
	if len(got) > len(sent)/2 {
		f.Errorf("with a buffer of %d it saw %d of %d events", buffer, len(got), len(sent))
	}
	f.expectContents(b, placedQueue, sent...)
}
