package rabbitmq_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// The redeliveries have the same delivery tags on a new channel, which has the
// same number on a new connection: an ack that reached it would lose a message.
func TestLateAckSettlesNothing(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	ids := []string{"a", "b", "c"}
	f.Publish(b, ids...)
	first, second := make(chan *messaging.Delivery, 10), make(chan *messaging.Delivery, 10)
	ended := make(chan struct{}, 10)
	stop := f.Consume(b, len(ids), func(ctx context.Context, d *messaging.Delivery) {
		if d.Count > 0 {
			second <- d
			return
		}
		first <- d
		<-ctx.Done()
		ended <- struct{}{}
	})
	var late []*messaging.Delivery
	for range ids {
		late = append(late, receive(f, first, "the first deliveries"))
	}
	f.Proxy.Cut()
	for range ids {
		receive(f, ended, "the end of the handlers' contexts")
		if d := receive(f, second, "the redeliveries"); d.Count != 1 {
			f.Errorf("%s was delivered %d times before, want 1", d.ID, d.Count)
		}
	}
	for _, d := range late {
		if err := d.Settler.Ack(); err == nil {
			f.Errorf("the late ack of %s reports success", d.ID)
		}
	}
	stop()
	f.Ready(f.Channel(), len(ids)) // all are still there
}

func TestSecondAckIsAnError(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	f.Publish(b, "a", "b")
	acked := make(chan [2]error, 10)
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		acked <- [2]error{d.Settler.Ack(), d.Settler.Ack()}
	})
	for range 2 { // on one session: the broker did not see the second ack
		errs := receive(f, acked, "deliveries")
		if errs[0] != nil || errs[1] == nil {
			f.Errorf("ack twice: %v", errs)
		}
	}
	stop()
	f.Ready(f.Channel(), 0)
}

func TestServerSideCancelResubscribes(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	got := make(chan *messaging.Delivery, 10)
	ended := make(chan struct{}, 10)
	stop := f.Consume(b, 5, func(ctx context.Context, d *messaging.Delivery) {
		got <- d
		if d.ID == "held" {
			<-ctx.Done()
			ended <- struct{}{}
			return
		}
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
	})
	f.Publish(b, "held")
	receive(f, got, "a delivery")
	if _, err := f.Channel().QueueDelete(queue, false, false, false); err != nil {
		f.Fatal(err)
	}
	receive(f, ended, "the end of the handler's context")
	// The driver declares the queue again, and the binding with it.
	f.insistRouted(b, "after")
	if d := receive(f, got, "a delivery from the queue of the same name"); d.ID != "after" {
		f.Errorf("got %s", d.ID)
	}
	stop()
}

// insistRouted publishes until a queue takes it.
func (f *fixture) insistRouted(b *rabbitmq.Broker, id string) {
	f.Helper()
	for b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, rabbitmqtest.Message(id)) != nil {
		if f.Ctx.Err() != nil {
			f.Fatalf("nothing takes %s", id)
		}
	}
}

func TestConsumeWaitsForItsQueue(t *testing.T) {
	f := newFixture(t)
	b := rabbitmqtest.Open(f.T, f.URL, rabbitmq.Options{})
	got := make(chan string, 1)
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.ID
	})
	f.Publish(f.Declared(rabbitmq.Options{}), "m")
	receive(f, got, "a delivery from the queue that now exists")
	stop()
}

// Anyone may send the header in which the broker counts.
func TestCountIsTheBrokers(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	m := rabbitmqtest.Message("liar")
	m.Headers = map[string]any{"x-delivery-count": int64(7)}
	if err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, m); err != nil {
		f.Fatal(err)
	}
	got := make(chan int, 10)
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.Count
	})
	if n := receive(f, got, "the delivery"); n != 0 {
		f.Errorf("the first delivery says that there were %d before", n)
	}
	stop()
}

func TestConsumeEndsWithAHungPeer(t *testing.T) {
	f := newFixture(t)
	f.Publish(f.Declared(rabbitmq.Options{}), "m")
	p := rabbitmqtest.NewProxy(t, f.URL)
	b := rabbitmqtest.Open(t, p.URL, rabbitmq.Options{Patience: 200 * time.Millisecond})
	started := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(f.Ctx)
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(ctx, messaging.Subscription{Queue: queue, Handle: func(ctx context.Context, _ *messaging.Delivery) {
			started <- struct{}{}
			<-ctx.Done()
		}})
	}()
	receive(f, started, "the delivery")
	p.Freeze()
	cancel()
	if err := receive(f, done, "Consume to return"); err != nil {
		f.Error(err)
	}
	p.Thaw()
	f.Ready(f.Channel(), 1) // its connection was cut, so the broker has it back
}

func TestOddHeadersArrive(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	err := f.Channel().PublishWithContext(f.Ctx, messagingtest.Shop().EventsExchange(), key, true, false, amqp.Publishing{
		MessageId: "odd",
		Headers: amqp.Table{
			"x-attempt": amqp.Table{"nested": []any{amqp.Table{"deep": int16(1)}}},
			"price":     amqp.Decimal{Scale: 2, Value: 45050},
			"nothing":   nil,
			"list":      []any{true, 1.5, []byte("bytes")},
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	got := make(chan messaging.Message, 1)
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.Message
	})
	m := receive(f, got, "the delivery")
	stop()
	nested, _ := m.Headers["x-attempt"].(map[string]any)
	list, _ := nested["nested"].([]any)
	if len(list) != 1 {
		f.Fatalf("the nested header came as %v", m.Headers)
	}
	if deep, _ := list[0].(map[string]any); deep["deep"] != int16(1) {
		f.Errorf("nested tables are not plain maps: %#v", nested)
	}
	// What came can be sent again.
	if err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, m); err != nil {
		f.Errorf("publish what was received: %v", err)
	}
}
