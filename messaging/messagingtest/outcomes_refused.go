package messagingtest

import (
	"context"
	"errors"
	"strings"

	"boxoffice/messaging"
)

func refusals() []clause {
	return []clause{
		{"an event that no consumer would take parks its delivery", "", unfitEventsPark},
		{"an event that is unheard needs no consumer", "", unheardEventsNeedNobody},
		{"two systems in one broker do not hear each other", "", systemsAreApart},
	}
}

// unfitEventsPark: holding the delivery would hold it for ever, and a retry
// would meet the same mistake.
func unfitEventsPark(f *fixture) {
	b := f.declared("test")
	for what, bad := range map[string]messaging.Event{
		"not in the routes":          OrderPlaced{OrderID: newIn().OrderID, Item: 1},
		"invalid":                    ItemReturned{OrderID: newIn().OrderID},
		"larger than consumers take": ItemReturned{OrderID: newIn().OrderID, Item: 1, Reason: strings.Repeat("x", 100<<10)},
	} {
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
		stop := f.serve(service{handle: func(context.Context, in) ([]messaging.Event, error) {
			return []messaging.Event{bad}, nil
		}})
		f.awaitContents(b, messaging.DeadQueue(stockQueue), 1)
		stop()
		parked := f.first(b, messaging.DeadQueue(stockQueue))
		if !strings.Contains(parked.Header(messaging.HeaderReason), messaging.ErrRefused.Error()) {
			f.Errorf("%s: parked with the reason %q", what, parked.Header(messaging.HeaderReason))
		}
		if err := Publisher(f, b, Stock, messaging.Instruments{}).Publish(f.ctx, bad); !errors.Is(err, messaging.ErrRefused) {
			f.Errorf("%s: Publish says %v", what, err)
		}
		if _, err := operator(b).Drop(f.ctx, stockQueue, everything); err != nil {
			f.Fatal(err)
		}
		f.expectQuiet(b)
		f.expectContents(b, outQueue)
	}
}

func unheardEventsNeedNobody(f *fixture) {
	b := f.connect("test")
	s := messaging.System{Prefix: "diary", Services: []messaging.Service{
		{Name: "writer", Routes: messaging.Routes{Publishes: []string{"OrderPlaced"}, Unheard: []string{"OrderPlaced"}}},
	}}
	if err := b.Declare(f.ctx, s.Topology(), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	p, err := messaging.NewPublisher(b, s, "writer", messaging.Instruments{})
	if err != nil {
		f.Fatal(err)
	}
	if err := p.Publish(f.ctx, OrderPlaced{OrderID: newIn().OrderID, Item: 1}); err != nil {
		f.Errorf("publish: %v", err)
	}
}

// systemsAreApart has a service of the same name, and the same events, in two
// systems: one with its prefix before each queue's name, one without.
func systemsAreApart(f *fixture) {
	b := f.declared("shop")
	second := Shop()
	second.Prefix, second.BareQueues = "market", false
	other := f.connect("market")
	if err := other.Declare(f.ctx, second.Topology(), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	p, err := messaging.NewPublisher(other, second, Billing, messaging.Instruments{})
	if err != nil {
		f.Fatal(err)
	}
	here, there := newIn(), newIn()
	for publisher, e := range map[*messaging.Publisher]in{Publisher(f, b, Billing, messaging.Instruments{}): here, p: there} {
		if err := publisher.Publish(f.ctx, e); err != nil {
			f.Fatal(err)
		}
	}
	for _, s := range []struct {
		system messaging.System
		event  in
	}{{Shop(), here}, {second, there}} {
		for _, service := range []string{Orders, Stock} {
			f.expectContents(b, s.system.Queue(service, "PaymentRefused"), s.event.Key()+".PaymentRefused")
		}
	}
	for _, q := range []string{"orders.PaymentRefused", "market.orders.PaymentRefused"} {
		f.expectContents(b, messaging.DeadQueue(q)) // it is there, and empty
	}
}
