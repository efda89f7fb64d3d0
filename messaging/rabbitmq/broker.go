package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// Options are the settings of a [Broker]; the zero value of each is its default.
type Options struct {
	// Name is shown in the broker's list of connections.
	Name   string
	Logger *slog.Logger // default: [slog.Default]
	// PublishWindow is how many published messages may wait for their confirms; default 1024.
	PublishWindow int
	// Heartbeat is how often a silent peer must be heard; default 10 s. One in
	// the URL takes precedence.
	Heartbeat time.Duration
	// DialTimeout bounds one try to connect, handshake included; default 10 s.
	DialTimeout time.Duration
	// MinBackoff to MaxBackoff is how long it waits between tries, give or take
	// half of that; default 100 ms to 2 s.
	MinBackoff, MaxBackoff time.Duration
	// Gate, if set, is shared with other Brokers of this process on the same
	// server: once one of their connections is up, the others try at once.
	Gate *Gate
	// FrameSize bounds the frames of the connections, if the broker does not
	// bound them more; default 128 KiB.
	FrameSize int
	// Probe, if set, is what this user may publish and nobody gets. Then Ready
	// knows also without traffic whether the broker takes what is published.
	Probe messaging.Probe
	// Patience is how long the broker may take to answer the orderly end of a
	// channel or a connection, before the socket is cut instead; default 5 s.
	Patience time.Duration
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "messaging")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.PublishWindow = cmp.Or(max(o.PublishWindow, 0), 1024)
	o.Heartbeat = cmp.Or(o.Heartbeat, 10*time.Second)
	o.DialTimeout = cmp.Or(o.DialTimeout, 10*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Second)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	if o.Gate == nil {
		o.Gate = NewGate()
	}
	return o
}

// Broker is a [messaging.Broker] on RabbitMQ. Make one with [Open].
type Broker struct {
	opts       Options
	log        *slog.Logger
	topology   topology
	publisher  *publisher
	publishing *link
	consuming  *link

	mu        sync.Mutex
	consumers map[*consumer]struct{} // that run
	closed    bool
	calls     sync.WaitGroup // calls from outside; none begins once closed
	done      chan struct{}  // Close has finished
	err       error          // what Close returned

	tasks      sync.WaitGroup  // goroutines of our own
	closing    context.Context //nolint:containedctx // the Broker's life: it ends when Close begins
	startClose context.CancelFunc
}

var _ messaging.Broker = (*Broker)(nil)

// Open makes a Broker that connects, and reconnects, in the background. The
// only error is a malformed URL.
func Open(url string, opts Options) (*Broker, error) {
	if err := checkURL(url); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	b := &Broker{opts: opts, log: opts.Logger, consumers: map[*consumer]struct{}{}, done: make(chan struct{})}
	b.closing, b.startClose = context.WithCancel(context.Background())
	b.publishing = newLink(url, "publish", opts)
	b.consuming = newLink(url, "consume", opts)
	b.publisher = newPublisher(b)
	b.publishing.start(&b.tasks)
	b.consuming.start(&b.tasks)
	b.tasks.Go(func() { b.publisher.run(b.closing) })
	return b, nil
}

// checkURL says what is wrong with a URL without showing it: the parser's own
// errors hold the password, or a part of it.
func checkURL(url string) error {
	uri, err := amqp.ParseURI(url)
	for _, mechanism := range uri.AuthMechanism { // whose value the client would show
		if !slices.Contains([]string{"plain", "amqplain", "external"}, strings.ToLower(mechanism)) {
			return errors.New("the broker's URL has an auth_mechanism that is not known: want plain, amqplain or external")
		}
	}
	if err != nil {
		return errors.New("the broker's URL is malformed (not shown, it may hold a password): " +
			"want amqp://user:password@host:port/vhost, with reserved characters percent-encoded")
	}
	return nil
}

// System implements [messaging.Broker].
func (b *Broker) System() string { return "rabbitmq" }

// Declare implements [messaging.Broker]. The last topology declared is the one
// that later connections declare again.
func (b *Broker) Declare(ctx context.Context, t messaging.Topology, mode messaging.TopologyMode) error {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	b.topology.begin()
	for retry := b.newBackoff(); ; {
		conn, err := b.consuming.up(ctx)
		if err != nil {
			return fmt.Errorf("declare the topology: %w", err)
		}
		err = b.topology.declare(ctx, &b.tasks, t, mode, conn, b.publishing.current()...)
		if err == nil || errors.Is(err, messaging.ErrTopology) {
			return err
		}
		if !sleep(ctx, retry.NextBackOff()) {
			return fmt.Errorf("declare the topology: %w (%w)", ended(ctx), err)
		}
	}
}

// Publish implements [messaging.Broker].
func (b *Broker) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	leave, err := b.begin()
	if err != nil {
		return err
	}
	defer leave()
	out, err := newOutgoing(exchange, key, m)
	if err != nil {
		return fmt.Errorf("publish to %q with key %q: %w", exchange, key, err)
	}
	if err := b.publisher.publish(ctx, out); err != nil {
		return fmt.Errorf("publish to %q with key %q: %w", exchange, key, err)
	}
	return nil
}

// begin counts a call that Close waits for.
func (b *Broker) begin() (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, messaging.ErrClosed
	}
	b.calls.Add(1)
	return b.calls.Done, nil
}

// enter is begin for a call that ends with ctx or when Close begins.
func (b *Broker) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	done, err := b.begin()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.closing, func() { cancel(messaging.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		done()
	}, nil
}
