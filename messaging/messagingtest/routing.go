package messagingtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"boxoffice/messaging"
)

func routing() []clause {
	return []clause{
		{"an event reaches the queues of its consumers and no other", "", eventsReachTheirQueues},
		{"PaymentRefused is one message for each of its two consumers", "", fanOutIsIndependent},
		{"a queue that is bound twice gets a message once", "", boundTwiceIsStoredOnce},
		{"a copy of a consumer is its own", "", copiesShareNothing},
		{"a redrive key reaches the one queue that failed", "", redriveReachesOneQueue},
		{"the dead exchange parks by work queue", "", parkingReachesOneQueue},
	}
}

func eventsReachTheirQueues(f *fixture) {
	b := f.declared("publisher")
	consumers := map[string][]string{
		"OrderPlaced":    {"stock.OrderPlaced"},
		"ItemReserved":   {"billing.ItemReserved"},
		"ItemRefused":    {"orders.ItemRefused"},
		"PaymentTaken":   {"orders.PaymentTaken"},
		"PaymentRefused": {"orders.PaymentRefused", "stock.PaymentRefused"},
		"ItemReturned":   {"orders.ItemReturned"},
	}
	want := map[string][]string{}
	for event, queues := range consumers {
		f.publish(b, Shop().EventsExchange(), event, message(event))
		for _, q := range queues {
			want[q] = append(want[q], event)
		}
	}
	for _, q := range topology().Queues {
		f.expectContents(b, q.Name, want[q.Name]...)
	}
}

func fanOutIsIndependent(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("one"))
	if d := f.next(ordersQueue); d.ID != "one" || d.Count != 0 {
		f.Errorf("orders got %s, delivered %d times before", d.ID, d.Count)
	}
	f.expectContents(b, ordersQueue)
	f.expectContents(b, stockQueue, "one") // the ack of orders settled nothing of stock

	deliveries := make(chan struct{}, 10)
	var lost atomic.Bool
	stock := f.consume(f.connect("stock"), stockQueue, 1, func(_ context.Context, d *messaging.Delivery) {
		deliveries <- struct{}{}
		if lost.CompareAndSwap(false, true) {
			d.Settler.Lose()
		} else if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
	})
	receive(f, deliveries, "the delivery to stock")
	receive(f, deliveries, "its redelivery")
	stock.finish()
	f.expectContents(b, ordersQueue) // what stock lost came back to stock alone
	f.expectContents(b, stockQueue)
}

func copiesShareNothing(f *fixture) {
	b := f.declared("publisher")
	m := message("one")
	m.Headers = map[string]any{"text": "as sent", "bytes": []byte("as sent")}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	scribble := func(m messaging.Message) {
		for i := range m.Body {
			m.Body[i] = '!'
		}
		if b, ok := m.Headers["bytes"].([]byte); ok {
			copy(b, "!!!!!!!")
		}
		m.Headers["text"] = "changed"
	}
	scribble(m)
	for _, queue := range []string{ordersQueue, stockQueue} { // the publisher has scribbled, then the other consumer
		d := f.next(queue)
		if string(d.Body) != "body of one" || d.Header("text") != "as sent" || d.Header("bytes") != "as sent" {
			f.Errorf("%s got %q with %v", queue, d.Body, d.Headers)
		}
		scribble(d.Message)
	}
}

func boundTwiceIsStoredOnce(f *fixture) {
	b := f.declared("publisher")
	err := b.Declare(f.ctx, messaging.Topology{
		Queues: []messaging.Queue{{Name: "test.Twice", DeliveryLimit: testLimit}},
		Bindings: []messaging.Binding{
			{Exchange: Shop().EventsExchange(), Key: "Twice", Queue: "test.Twice"},
			{Exchange: Shop().EventsExchange(), Key: "#", Queue: "test.Twice"},
		},
	}, messaging.TopologyDeclare)
	if err != nil {
		f.Fatalf("declare: %v", err)
	}
	f.publish(b, Shop().EventsExchange(), "Twice", message("one"))
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("two"))
	f.expectContents(b, "test.Twice", "one", "two")
	f.expectContents(b, placedQueue, "two")
}

func redriveReachesOneQueue(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().RedeliverExchange(), messaging.RedriveKey(stockQueue), message("again"))
	f.expectContents(b, stockQueue, "again")
	f.expectContents(b, ordersQueue)
	err := b.Publish(f.ctx, Shop().RedeliverExchange(), messaging.RedriveKey("stock.Nothing"), message("lost"))
	if !errors.Is(err, messaging.ErrUnroutable) {
		f.Errorf("a redrive to no queue: %v, want ErrUnroutable", err)
	}
}

func parkingReachesOneQueue(f *fixture) {
	b := f.declared("publisher")
	want := ids("parked", 3)
	dead := f.park(b, stockQueue, want)
	if got := f.contents(b, dead); !slices.Equal(got, want) {
		f.Errorf("%s holds %v, want %v", dead, got, want)
	}
	f.expectContents(b, messaging.DeadQueue(ordersQueue))
	f.expectContents(b, stockQueue)
}
