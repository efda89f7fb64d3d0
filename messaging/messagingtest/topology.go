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
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("m"))
	for range 2 {
		if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
			f.Errorf("declare again: %v", err)
		}
	}
	f.expectContents(b, stockQueue, "m") // once, although bound three times
}

func declareAtOnce(f *fixture) {
	var running sync.WaitGroup
	for _, name := range []string{Orders, Stock, Billing} {
		b := f.connect(name)
		running.Go(func() {
			if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
				f.Errorf("%s: declare: %v", name, err)
			}
			if err := b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", message(name)); err != nil {
				f.Errorf("%s: publish: %v", name, err)
			}
		})
	}
	running.Wait()
	f.drain(placedQueue, []string{Orders, Stock, Billing})
}

func otherArguments(f *fixture) {
	b := f.declared("one")
	changed := topology()
	changed.Queues = slices.Clone(changed.Queues)
	i := slices.IndexFunc(changed.Queues, func(q messaging.Queue) bool { return q.Name == stockQueue })
	changed.Queues[i].DeliveryLimit++
	err := b.Declare(f.ctx, changed, messaging.TopologyDeclare)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), stockQueue) {
		f.Errorf("got %v, want ErrTopology that names %s", err, stockQueue)
	}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("m"))
	f.expectContents(b, stockQueue, "m")
}

func checkCreatesNothing(f *fixture) {
	b := f.connect("one")
	t := topology()
	err := b.Declare(f.ctx, t, messaging.TopologyCheck)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "shop.") {
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
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("m"))
	f.drain(placedQueue, []string{"m"})
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
