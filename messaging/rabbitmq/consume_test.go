package rabbitmq_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// The redeliveries have the same delivery tags on a new channel, which has the
// same number on a new connection: an ack that reached it would lose a message.
func TestLateAckSettlesNothing(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	ids := []string{"a", "b", "c"}
	f.publish(b, ids...)
	first, second := make(chan *messaging.Delivery, 10), make(chan *messaging.Delivery, 10)
	ended := make(chan struct{}, 10)
	stop := f.consume(b, len(ids), func(ctx context.Context, d *messaging.Delivery) {
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
	f.dropConnections()
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
	f.ready(f.channel(), len(ids)) // all are still there
}

func TestSecondAckIsAnError(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	f.publish(b, "a", "b")
	acked := make(chan [2]error, 10)
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		acked <- [2]error{d.Settler.Ack(), d.Settler.Ack()}
	})
	for range 2 { // on one session: the broker did not see the second ack
		errs := receive(f, acked, "deliveries")
		if errs[0] != nil || errs[1] == nil {
			f.Errorf("ack twice: %v", errs)
		}
	}
	stop()
	f.ready(f.channel(), 0)
}

func TestServerSideCancelResubscribes(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	got := make(chan *messaging.Delivery, 10)
	ended := make(chan struct{}, 10)
	stop := f.consume(b, 5, func(ctx context.Context, d *messaging.Delivery) {
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
	f.publish(b, "held")
	receive(f, got, "a delivery")
	if _, err := f.channel().QueueDelete(queue, false, false, false); err != nil {
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
	for b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message(id)) != nil {
		if f.ctx.Err() != nil {
			f.Fatalf("nothing takes %s", id)
		}
	}
}

func TestConsumeWaitsForItsQueue(t *testing.T) {
	f := newFixture(t)
	b := open(f.T, f.url, rabbitmq.Options{})
	got := make(chan string, 1)
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.ID
	})
	f.publish(f.declared(rabbitmq.Options{}), "m")
	receive(f, got, "a delivery from the queue that now exists")
	stop()
}

// Anyone may send the header in which the broker counts.
func TestCountIsTheBrokers(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	m := message("liar")
	m.Headers = map[string]any{"x-delivery-count": int64(7)}
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, m); err != nil {
		f.Fatal(err)
	}
	got := make(chan int, 10)
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
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
	f.publish(f.declared(rabbitmq.Options{}), "m")
	p := newProxy(t, f.url)
	b := open(t, p.url, rabbitmq.Options{Patience: 200 * time.Millisecond})
	started := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(ctx, messaging.Subscription{Queue: queue, Handle: func(ctx context.Context, _ *messaging.Delivery) {
			started <- struct{}{}
			<-ctx.Done()
		}})
	}()
	receive(f, started, "the delivery")
	p.freeze()
	cancel()
	if err := receive(f, done, "Consume to return"); err != nil {
		f.Error(err)
	}
	p.thaw()
	f.ready(f.channel(), 1) // its connection was cut, so the broker has it back
}

func TestOddHeadersArrive(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	err := f.channel().PublishWithContext(f.ctx, messagingtest.Shop().EventsExchange(), key, true, false, amqp.Publishing{
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
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
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
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, m); err != nil {
		f.Errorf("publish what was received: %v", err)
	}
}
