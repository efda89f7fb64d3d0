package rabbitmqtest

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	neturl "net/url"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// Patience is how long a test may take before it fails.
const Patience = 3 * time.Minute

// WorkQueue is the one that most tests use, Key what routes to it.
const (
	WorkQueue = "stock.OrderPlaced"
	Key       = "OrderPlaced"
)

// Fixture is a test with an empty virtual host of its own.
type Fixture struct {
	*testing.T
	Server Server
	VHost  string
	Proxy  *Proxy          // before the server
	URL    string          // of the virtual host, by way of Proxy
	Ctx    context.Context // ends when Patience does
}

// New makes a fixture on a server. The virtual host is deleted after the test,
// unless the server keeps them.
func New(t *testing.T, s Server) *Fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	f := &Fixture{T: t, Server: s, VHost: "test-" + rand.Text(), Ctx: ctx}
	direct, err := s.at(f.VHost)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := neturl.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.manage(t, http.MethodPut, "vhosts/"+f.VHost, map[string]any{})
	if !s.KeepVHosts {
		t.Cleanup(func() { s.manage(t, http.MethodDelete, "vhosts/"+f.VHost, nil) })
	}
	f.permit(admin.User.Username(), ".*", ".*", ".*")
	f.Proxy = NewProxy(t, direct)
	f.URL = f.Proxy.URL
	return f
}

func (f *Fixture) permit(user, configure, write, read string) {
	f.Helper()
	f.Server.manage(f.T, http.MethodPut, "permissions/"+f.VHost+"/"+user, map[string]string{"configure": configure, "write": write, "read": read})
}

// User makes a user with these rights and returns the URL to connect as them.
func (f *Fixture) User(name, configure, write, read string) string {
	f.Helper()
	user := name + "-" + f.VHost // users are the whole server's
	f.Server.manage(f.T, http.MethodPut, "users/"+user, map[string]string{"password": "secret", "tags": ""})
	f.Cleanup(func() { f.Server.manage(f.T, http.MethodDelete, "users/"+user, nil) })
	f.Rights(name, configure, write, read)
	return AsUser(f.T, f.URL, user, "secret")
}

// Rights changes those of a user of [Fixture.User].
func (f *Fixture) Rights(name, configure, write, read string) {
	f.Helper()
	f.permit(name+"-"+f.VHost, configure, write, read)
}

// MaxConnections limits how many connections the virtual host takes.
func (f *Fixture) MaxConnections(n int) {
	f.Helper()
	f.Server.manage(f.T, http.MethodPut, "vhost-limits/"+f.VHost+"/max-connections", map[string]int{"value": n})
}

// Open makes a Broker, closed after the test, that logs to it.
func Open(t *testing.T, url string, opts rabbitmq.Options) *rabbitmq.Broker {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	b, err := rabbitmq.Open(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_ = b.Close(ctx) // tests that are about closing look at its error themselves
	})
	return b
}

// Declared is a Broker with the topology in place.
func (f *Fixture) Declared(opts rabbitmq.Options) *rabbitmq.Broker {
	f.Helper()
	b := Open(f.T, f.URL, opts)
	if err := b.Declare(f.Ctx, Topology(), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	return b
}

// Topology returns what [Shop] needs.
func Topology() messaging.Topology { return Shop().Topology() }

// Shop returns the system of most tests, with a delay that does not pass.
func Shop() messaging.System {
	s := messagingtest.Shop()
	s.RetryDelays = []time.Duration{time.Hour}
	return s
}

// Publish publishes a message per id, each of which must be confirmed.
func (f *Fixture) Publish(b *rabbitmq.Broker, ids ...string) {
	f.Helper()
	for _, id := range ids {
		if err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), Key, Message(id)); err != nil {
			f.Fatal(err)
		}
	}
}

// Insist publishes until the message is confirmed.
func (f *Fixture) Insist(b *rabbitmq.Broker, id string) {
	for {
		err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), Key, Message(id))
		if err == nil {
			return
		}
		if f.Ctx.Err() != nil {
			f.Errorf("publish %s: %v", id, err)
			return
		}
	}
}

// Impatient publishes with a short deadline and returns whether it passed.
func (f *Fixture) Impatient(b *rabbitmq.Broker, id string) error {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Ctx, 200*time.Millisecond)
	defer cancel()
	return b.Publish(ctx, messagingtest.Shop().EventsExchange(), Key, Message(id))
}

// Message returns a small message that its id tells apart.
func Message(id string) messaging.Message {
	return messaging.Message{ID: id, Body: []byte("body of " + id)}
}

// Consume runs a Consume until the returned function stops it.
func (f *Fixture) Consume(b *rabbitmq.Broker, prefetch int, handle func(context.Context, *messaging.Delivery)) (stop func()) {
	f.Helper()
	stopping, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- b.Consume(f.Ctx, messaging.Subscription{Queue: WorkQueue, Prefetch: prefetch, Stop: stopping, Handle: handle})
	}()
	return func() {
		f.Helper()
		close(stopping)
		if err := Receive(f, done, "Consume to return"); err != nil {
			f.Errorf("Consume: %v", err)
		}
	}
}

// takeOne consumes a queue until a message came.
func (f *Fixture) takeOne(b *rabbitmq.Broker, queue string) {
	f.Helper()
	stop, done, taken := make(chan struct{}), make(chan error, 1), make(chan error, 100)
	go func() {
		done <- b.Consume(f.Ctx, messaging.Subscription{Queue: queue, Prefetch: 1, Stop: stop, Handle: func(_ context.Context, d *messaging.Delivery) {
			taken <- d.Settler.Ack()
		}})
	}()
	err := Receive(f, taken, "a message from "+queue)
	close(stop)
	if err = errors.Join(err, Receive(f, done, "Consume to return")); err != nil {
		f.Errorf("%s: %v", queue, err)
	}
}

// Channel is a plain AMQP channel, for what the driver does not do.
func (f *Fixture) Channel() *amqp.Channel {
	f.Helper()
	conn, err := amqp.Dial(f.URL)
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

// Ready waits until the queue holds n messages that nobody holds.
func (f *Fixture) Ready(channel *amqp.Channel, n int) {
	f.Helper()
	f.ReadyIn(channel, WorkQueue, n)
}

// ReadyIn is Ready for another queue.
func (f *Fixture) ReadyIn(channel *amqp.Channel, queue string, n int) {
	f.Helper()
	for {
		q, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			f.Fatal(err)
		}
		if q.Messages == n {
			return
		}
		if f.Ctx.Err() != nil {
			f.Fatalf("%s holds %d messages, want %d", queue, q.Messages, n)
		}
	}
}

// Until waits until b's Ready says yes, or no.
func (f *Fixture) Until(b *rabbitmq.Broker, yes bool) error {
	f.Helper()
	for {
		err := b.Ready()
		if (err == nil) == yes {
			return err
		}
		if f.Ctx.Err() != nil {
			f.Fatalf("Ready is still: %v", err)
		}
		f.Pause()
	}
}

// Pause waits a moment, where there is no signal to wait for.
func (f *Fixture) Pause() {
	select {
	case <-time.After(time.Millisecond):
	case <-f.Ctx.Done():
	}
}

// Receive takes a value from a channel, or fails.
func Receive[T any](f *Fixture, ch <-chan T, what string) T {
	f.Helper()
	select {
	case v := <-ch:
		return v
	case <-f.Ctx.Done():
		f.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// Within fails if it takes too long by far.
func Within(t *testing.T, limit time.Duration, what string) (check func()) {
	t.Helper()
	start := time.Now()
	return func() {
		t.Helper()
		if took := time.Since(start); took > limit {
			t.Errorf("%s took %v", what, took)
		}
	}
}
