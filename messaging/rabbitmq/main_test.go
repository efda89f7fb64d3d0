package rabbitmq_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/internal/testserver"
	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

// patience is how long a test may take before it fails.
const patience = 3 * time.Minute

// queue is the one that most tests use, key what routes to it.
const (
	queue = "stock.OrderPlaced"
	key   = "OrderPlaced"
)

// fixture is a test with an empty virtual host of its own.
type fixture struct {
	*testing.T
	server *testserver.Rabbit
	vhost  string
	url    string
	ctx    context.Context // ends when patience does
}

// vhosts counts up. A name is not used again: where one was deleted and the
// server then killed, RabbitMQ 3.10 fails to declare the same queues again.
var vhosts atomic.Int64

func newFixture(t *testing.T) *fixture {
	t.Helper()
	server := testserver.SharedRabbitMQ(t)
	vhost := fmt.Sprintf("test-%d", vhosts.Add(1))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &fixture{T: t, server: server, vhost: vhost, url: server.VHost(t, vhost), ctx: ctx}
}

// open makes a Broker, closed after the test, that logs to it.
func open(t *testing.T, url string, opts rabbitmq.Options) *rabbitmq.Broker {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	b, err := rabbitmq.Open(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = b.Close(ctx) // tests that are about closing look at its error themselves
	})
	return b
}

// declared is a Broker with the topology in place.
func (f *fixture) declared(opts rabbitmq.Options) *rabbitmq.Broker {
	f.Helper()
	b := open(f.T, f.url, opts)
	if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	return b
}

func topology() messaging.Topology { return shop().Topology() }

func shop() messaging.System {
	s := messagingtest.Shop()
	s.RetryDelays = []time.Duration{time.Hour}
	return s
}

func (f *fixture) publish(b *rabbitmq.Broker, ids ...string) {
	f.Helper()
	for _, id := range ids {
		if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message(id)); err != nil {
			f.Fatal(err)
		}
	}
}

// insist publishes until the message is confirmed.
func (f *fixture) insist(b *rabbitmq.Broker, id string) {
	for {
		err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message(id))
		if err == nil {
			return
		}
		if f.ctx.Err() != nil {
			f.Errorf("publish %s: %v", id, err)
			return
		}
	}
}

func message(id string) messaging.Message {
	return messaging.Message{ID: id, Body: []byte("body of " + id)}
}

// consume runs a Consume until the returned function stops it.
func (f *fixture) consume(b *rabbitmq.Broker, prefetch int, handle func(context.Context, *messaging.Delivery)) (stop func()) {
	f.Helper()
	stopping, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- b.Consume(f.ctx, messaging.Subscription{Queue: queue, Prefetch: prefetch, Stop: stopping, Handle: handle})
	}()
	return func() {
		f.Helper()
		close(stopping)
		if err := receive(f, done, "Consume to return"); err != nil {
			f.Errorf("Consume: %v", err)
		}
	}
}

// channel is a plain AMQP channel, for what the driver does not do.
func (f *fixture) channel() *amqp.Channel {
	f.Helper()
	conn, err := amqp.Dial(f.url)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		f.Fatal(err)
	}
	return channel
}

// ready waits until the queue holds n messages that nobody holds.
func (f *fixture) ready(channel *amqp.Channel, n int) {
	f.Helper()
	f.readyIn(channel, queue, n)
}

func (f *fixture) readyIn(channel *amqp.Channel, queue string, n int) {
	f.Helper()
	for {
		q, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			f.Fatal(err)
		}
		if q.Messages == n {
			return
		}
		if f.ctx.Err() != nil {
			f.Fatalf("%s holds %d messages, want %d", queue, q.Messages, n)
		}
	}
}

// until waits until b's Ready says yes, or no.
func (f *fixture) until(b *rabbitmq.Broker, yes bool) error {
	f.Helper()
	for {
		err := b.Ready()
		if (err == nil) == yes {
			return err
		}
		if f.ctx.Err() != nil {
			f.Fatalf("Ready is still: %v", err)
		}
		f.pause()
	}
}

// pause waits a moment, where there is no signal to wait for.
func (f *fixture) pause() {
	select {
	case <-time.After(time.Millisecond):
	case <-f.ctx.Done():
	}
}

// receive takes a value from a channel, or fails.
func receive[T any](f *fixture, ch <-chan T, what string) T {
	f.Helper()
	select {
	case v := <-ch:
		return v
	case <-f.ctx.Done():
		f.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// within fails if it takes too long by far.
func within(t *testing.T, limit time.Duration, what string) (check func()) {
	t.Helper()
	start := time.Now()
	return func() {
		t.Helper()
		if took := time.Since(start); took > limit {
			t.Errorf("%s took %v", what, took)
		}
	}
}
