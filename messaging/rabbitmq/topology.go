package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// topology remembers what was declared, to declare it again on each connection.
type topology struct {
	mu         sync.Mutex
	generation int64 // 0: nothing was declared
	want       messaging.Topology
	mode       messaging.TopologyMode
	declareErr error // of the last Declare
	ensureErr  error // of the last time it was declared again
	since      time.Time
}

// problem is why the topology is not there, or nil.
func (t *topology) problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := cmp.Or(t.declareErr, t.ensureErr)
	if err == nil {
		return nil
	}
	return streak.At(err, t.since)
}

// failed keeps the moment since when the topology is not there. The caller
// holds mu and sets the error next.
func (t *topology) failed() {
	if t.declareErr == nil && t.ensureErr == nil {
		t.since = time.Now()
	}
}

func (t *topology) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed()
	t.declareErr = errors.New("the topology is not declared yet")
}

// declare declares a topology through conn, and remembers it unless the broker
// refuses. The other connections that were up before need not declare it.
func (t *topology) declare(ctx context.Context, tasks *sync.WaitGroup, want messaging.Topology, mode messaging.TopologyMode, conn *connection, others ...*connection) error {
	if err := conn.lockTopology(ctx); err != nil {
		return err
	}
	defer conn.unlockTopology()
	err := declareWith(ctx, tasks, conn, want, mode)
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, messaging.ErrTopology) {
		t.failed()
		t.declareErr = err
	}
	if err != nil {
		return err
	}
	t.generation++
	t.want, t.mode, t.declareErr, t.ensureErr = want, mode, nil, nil
	for _, c := range append(others, conn) {
		c.declared.Store(t.generation)
	}
	return nil
}

// ensure declares what is remembered, unless conn has it already.
func (t *topology) ensure(ctx context.Context, tasks *sync.WaitGroup, conn *connection) error {
	if err := conn.lockTopology(ctx); err != nil {
		return err
	}
	defer conn.unlockTopology()
	if conn.incomplete.Swap(false) {
		conn.declared.Store(0)
	}
	t.mu.Lock()
	generation, want, mode := t.generation, t.want, t.mode
	t.mu.Unlock()
	if conn.declared.Load() == generation {
		return nil
	}
	err := declareWith(ctx, tasks, conn, want, mode)
	if err == nil {
		conn.declared.Store(generation)
	}
	if err == nil || errors.Is(err, messaging.ErrTopology) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if err != nil {
			t.failed()
		}
		t.ensureErr = err
	}
	return err
}

// declareWith is declareAll, abandoned when ctx ends.
func declareWith(ctx context.Context, tasks *sync.WaitGroup, conn *connection, want messaging.Topology, mode messaging.TopologyMode) error {
	_, err := await(ctx, tasks, func() (struct{}, error) {
		return struct{}{}, declareAll(ctx, conn, want, mode)
	}, func(struct{}) {})
	return err
}

func declareAll(ctx context.Context, conn *connection, want messaging.Topology, mode messaging.TopologyMode) error {
	d := declarer{ctx: ctx, conn: conn, check: mode == messaging.TopologyCheck}
	defer d.end()
	for _, name := range want.Exchanges {
		d.exchange(name)
	}
	for _, q := range want.Queues {
		d.queue(q)
	}
	for _, b := range want.Bindings {
		d.bind(b)
	}
	return d.result()
}

// declarer declares one object after the other. After an error it does nothing more.
//
// Since RabbitMQ 4.3.1 only a user with some right to an object may check that
// it exists, and none may find out about those of others. So a check is of what
// the user can see, which is what it will use.
type declarer struct {
	ctx     context.Context //nolint:containedctx // of one declareAll
	conn    *connection
	channel *amqp.Channel // nil: a refusal has closed it
	check   bool
	seen    bool  // something was there, and could be seen
	hidden  error // the last object that the user may not see
	err     error
}

func (d *declarer) do(call func(*amqp.Channel) error, kind, name string) {
	if d.err == nil {
		d.err = d.ctx.Err()
	}
	if d.err == nil && d.channel == nil {
		if d.channel, d.err = d.conn.Channel(); d.err != nil {
			d.err = fmt.Errorf("open a channel: %w", d.err)
		}
	}
	if d.err != nil {
		return
	}
	err := call(d.channel)
	refused := func() error { return fmt.Errorf("%w: %s %q: %w", messaging.ErrTopology, kind, name, err) }
	switch {
	case err == nil:
		d.seen = true
	case d.check && refusal(err, amqp.AccessRefused):
		d.hidden = refused()
		d.end()
	case refusal(err, amqp.AccessRefused, amqp.NotFound, amqp.ResourceLocked, amqp.PreconditionFailed, amqp.NotAllowed, amqp.NotImplemented):
		d.err = refused()
	default:
		d.err = fmt.Errorf("declare the %s %q: %w", kind, name, err)
	}
}

// result is the error that ended it, or that nothing could be seen.
func (d *declarer) result() error {
	if d.err == nil && !d.seen {
		return d.hidden
	}
	return d.err
}

func (d *declarer) end() {
	if d.channel != nil {
		d.conn.closeChannel(d.channel)
		d.channel = nil
	}
}

func (d *declarer) exchange(name string) {
	declare := (*amqp.Channel).ExchangeDeclare
	if d.check {
		declare = (*amqp.Channel).ExchangeDeclarePassive
	}
	d.do(func(ch *amqp.Channel) error {
		return declare(ch, name, amqp.ExchangeTopic, true, false, false, false, nil)
	}, "exchange", name)
}

func (d *declarer) queue(q messaging.Queue) {
	declare, args := (*amqp.Channel).QueueDeclare, arguments(q)
	if d.check {
		declare, args = (*amqp.Channel).QueueDeclarePassive, nil
	}
	d.do(func(ch *amqp.Channel) error {
		_, err := declare(ch, q.Name, true, false, false, false, args)
		return err
	}, "queue", q.Name)
}

// bind does nothing when it only checks: there is no passive bind.
func (d *declarer) bind(b messaging.Binding) {
	if d.check {
		return
	}
	d.do(func(ch *amqp.Channel) error { return ch.QueueBind(b.Queue, b.Key, b.Exchange, false, nil) },
		"binding", b.Exchange+" → "+b.Key+" → "+b.Queue)
}

// arguments declare a quorum queue. Dead-lettering at least once needs
// reject-publish; with drop-head it silently becomes at most once.
func arguments(q messaging.Queue) amqp.Table {
	args := amqp.Table{
		amqp.QueueTypeArg:     amqp.QueueTypeQuorum,
		amqp.QueueOverflowArg: amqp.QueueOverflowRejectPublish,
	}
	if q.DeliveryLimit > 0 {
		args["x-delivery-limit"] = int64(q.DeliveryLimit)
	}
	if q.TTL > 0 {
		args[amqp.QueueMessageTTLArg] = q.TTL.Milliseconds()
	}
	if q.DeadLetterExchange != "" {
		args["x-dead-letter-exchange"] = q.DeadLetterExchange
		args["x-dead-letter-strategy"] = "at-least-once"
		if q.DeadLetterKey != "" {
			args["x-dead-letter-routing-key"] = q.DeadLetterKey
		}
	}
	return args
}
