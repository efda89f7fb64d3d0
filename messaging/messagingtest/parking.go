package messagingtest

import (
	"context"
	"reflect"
	"sync/atomic"

	"boxoffice/messaging"
)

func parking() []clause {
	return []clause{
		{"what is delivered too often is parked with its x-death", "", deliveryLimitParks},
	}
}

const testLimit = 3

// limited declares a work queue with a low delivery limit beside the topology.
func (f *fixture) limited() (b messaging.Broker, work string) {
	b = f.declared("publisher")
	work = "test.Limited"
	err := b.Declare(f.ctx, messaging.Topology{
		Exchanges: []string{Shop().EventsExchange(), Shop().DeadExchange()},
		Queues: []messaging.Queue{
			{Name: work, DeadLetterExchange: Shop().DeadExchange(), DeadLetterKey: work, DeliveryLimit: testLimit},
			{Name: messaging.DeadQueue(work), DeliveryLimit: messaging.DeadDeliveryLimit},
		},
		Bindings: []messaging.Binding{
			{Exchange: Shop().EventsExchange(), Key: "Limited", Queue: work},
			{Exchange: Shop().DeadExchange(), Key: work, Queue: messaging.DeadQueue(work)},
		},
	}, messaging.TopologyDeclare)
	if err != nil {
		f.Fatalf("declare: %v", err)
	}
	return b, work
}

func deliveryLimitParks(f *fixture) {
	b, work := f.limited()
	m := message("deadly")
	m.Headers = map[string]any{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	f.publish(b, Shop().EventsExchange(), "Limited", m)
	var deliveries atomic.Int64
	c := f.consume(f.connect("crashing"), work, 1, func(_ context.Context, d *messaging.Delivery) {
		deliveries.Add(1)
		d.Settler.Lose()
	})
	got := f.next(messaging.DeadQueue(work))
	c.finish()
	// A limit of 3 lets RabbitMQ return a message three times: it is delivered four times.
	if n := deliveries.Load(); n < testLimit || n > testLimit+1 {
		f.Errorf("it was delivered %d times, with a limit of %d", n, testLimit)
	}
	if got.ID != "deadly" || string(got.Body) != "body of deadly" || got.Header("traceparent") != m.Header("traceparent") {
		f.Errorf("parked %+v", got.Message)
	}
	death := latestDeath(f, got.Message)
	for k, want := range map[string]string{"queue": work, "reason": "delivery_limit", "exchange": Shop().EventsExchange()} {
		if death[k] != want {
			f.Errorf("x-death says %s %v, want %s", k, death[k], want)
		}
	}
	if keys, _ := death["routing-keys"].([]any); !reflect.DeepEqual(keys, []any{"Limited"}) {
		f.Errorf("x-death says routing-keys %v", death["routing-keys"])
	}
	if got.Header("x-first-death-queue") != work {
		f.Errorf("x-first-death-queue is %q", got.Header("x-first-death-queue"))
	}
	f.expectContents(b, work)
}

// latestDeath is the first entry of x-death, which drivers hand out as plain
// maps and slices.
func latestDeath(f *fixture, m messaging.Message) map[string]any {
	f.Helper()
	deaths, _ := m.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		f.Fatalf("there is no x-death in %v", m.Headers)
	}
	death, ok := deaths[0].(map[string]any)
	if !ok {
		f.Fatalf("an x-death entry is a %T, want a map[string]any", deaths[0])
	}
	return death
}
