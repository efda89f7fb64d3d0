package messagingtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"boxoffice/messaging"
)

func topologies() []clause {
	return []clause{
		{"declaring again changes nothing", "", declareTwice},
		{"several connections may declare at once", "", declareAtOnce},
		{"a queue with other arguments is refused by name", "", otherArguments},
		{"a check names what is missing and creates nothing", "", checkCreatesNothing},
		{"a check of a declared topology passes", "", checkPasses},
		{"declaring waits for the broker until the context ends", Outage, declareWaits},
	}
}

func declareTwice(f *fixture) {
	b := f.declared("one")
	f.publish(b, messaging.ExchangeEvents, "PaymentFailed", message("m"))
	for range 2 {
		if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
			f.Errorf("declare again: %v", err)
		}
	}
	f.expectContents(b, seatsQueue, "m") // once, although bound three times
}

func declareAtOnce(f *fixture) {
	var running sync.WaitGroup
	for _, name := range []string{messaging.Booking, messaging.Seats, messaging.Payments} {
		b := f.connect(name)
		running.Go(func() {
			if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
				f.Errorf("%s: declare: %v", name, err)
			}
			if err := b.Publish(f.ctx, messaging.ExchangeEvents, "BookingCreated", message(name)); err != nil {
				f.Errorf("%s: publish: %v", name, err)
			}
		})
	}
	running.Wait()
	f.drain(createdQueue, []string{messaging.Booking, messaging.Seats, messaging.Payments})
}

func otherArguments(f *fixture) {
	b := f.declared("one")
	changed := topology()
	changed.Queues = slices.Clone(changed.Queues)
	i := slices.IndexFunc(changed.Queues, func(q messaging.Queue) bool { return q.Name == seatsQueue })
	changed.Queues[i].DeliveryLimit++
	err := b.Declare(f.ctx, changed, messaging.TopologyDeclare)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), seatsQueue) {
		f.Errorf("got %v, want ErrTopology that names %s", err, seatsQueue)
	}
	f.publish(b, messaging.ExchangeEvents, "PaymentFailed", message("m"))
	f.expectContents(b, seatsQueue, "m")
}

func checkCreatesNothing(f *fixture) {
	b := f.connect("one")
	t := topology()
	err := b.Declare(f.ctx, t, messaging.TopologyCheck)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "tickets.") {
		f.Errorf("an empty broker: %v, want ErrTopology that names an exchange", err)
	}
	if err := b.Declare(f.ctx, messaging.Topology{Exchanges: t.Exchanges}, messaging.TopologyDeclare); err != nil {
		f.Fatalf("declare the exchanges: %v", err)
	}
	err = b.Declare(f.ctx, t, messaging.TopologyCheck)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), t.Queues[0].Name) {
		f.Errorf("no queues: %v, want ErrTopology that names %s", err, t.Queues[0].Name)
	}
	err = b.Browse(f.ctx, t.Queues[0].Name, func(context.Context, messaging.Message) (bool, error) { return false, nil })
	if !errors.Is(err, messaging.ErrNoQueue) {
		f.Errorf("after a check: %v, want ErrNoQueue", err)
	}
}

func checkPasses(f *fixture) {
	f.declared("one")
	b := f.connect("two")
	if err := b.Declare(f.ctx, topology(), messaging.TopologyCheck); err != nil {
		f.Errorf("check: %v", err)
	}
	f.publish(b, messaging.ExchangeEvents, "BookingCreated", message("m"))
	f.drain(createdQueue, []string{"m"})
}

func declareWaits(f *fixture) {
	b := f.declared("one")
	start := f.outage()
	ctx, cancel := context.WithTimeout(f.ctx, shortWhile)
	defer cancel()
	err := b.Declare(ctx, topology(), messaging.TopologyDeclare)
	if err == nil || errors.Is(err, messaging.ErrTopology) {
		f.Errorf("declared on a stopped broker: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- b.Declare(f.ctx, topology(), messaging.TopologyDeclare) }()
	start()
	if err := receive(f, done, "Declare, once the broker is back"); err != nil {
		f.Errorf("declare after the outage: %v", err)
	}
}
