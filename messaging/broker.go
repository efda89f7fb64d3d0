package messaging

import (
	"context"
	"errors"
)

// Broker is one service's connection to a message broker: the small driver
// that [Publisher], [Consumer] and [DeadLetters] need. Everything above it is
// written once for all brokers; everything below is proven by messagingtest.
//
// A Broker reconnects by itself, for ever. Its methods are safe for concurrent
// use and return when their context ends, whatever the broker does.
type Broker interface {
	// System names the broker in traces: "rabbitmq", "inproc".
	System() string

	// Declare makes the topology exist, or with TopologyCheck verifies that it
	// does, and does so again on each later connection before anything is
	// consumed. It waits for an unreachable broker until ctx ends. What the
	// broker refuses (a queue with other arguments, a missing right) is an
	// error that wraps ErrTopology and names the object.
	Declare(ctx context.Context, t Topology, mode TopologyMode) error

	// Publish sends a persistent, mandatory message and returns nil once the
	// broker confirmed it: it is stored in every queue that its key is bound to.
	// No such queue is ErrUnroutable. A message that can never be sent is
	// ErrUnfit, and costs nobody the connection; headers that only tracing needs
	// are left out first. Any other error means unknown: the message
	// may or may not be stored. Without a connection it waits for one.
	Publish(ctx context.Context, exchange, key string, m Message) error

	// Consume delivers the messages of one queue, each on a goroutine of its own,
	// until s.Stop closes or ctx ends, and subscribes again after each loss of
	// the connection, the channel or the queue's leader. When s.Stop closes it
	// takes no more messages and waits for the running handlers; when ctx ends
	// it cancels their contexts, then waits. What is unsettled when it returns
	// goes back to the queue. It returns nil after either.
	Consume(ctx context.Context, s Subscription) error

	// Observe shows a transient copy of the events whose keys (topic patterns)
	// match, published from now on, until ctx ends; it subscribes again after
	// each loss. Ready, if set, is called after each subscribing. At most Buffer
	// messages wait for a slow See; the oldest are dropped.
	Observe(ctx context.Context, o Observation) error

	// Browse shows each message that is in the queue when it begins to visit,
	// once, oldest first; of two that looked at the same time, what the first
	// gave back comes before the second's. A message is removed if visit says so, after it has
	// returned; every other one is still there afterwards, and an error from
	// visit or a crash removes nothing more. Messages that another Browse is
	// looking at are not seen: if there may be some, ErrHeld is returned once the
	// rest was visited. A queue that does not exist is ErrNoQueue.
	Browse(ctx context.Context, queue string, visit func(context.Context, Message) (remove bool, err error)) error

	// Ready is nil when the broker can be published to, else what is wrong: no
	// connection, a broker that does not read, or messages that it did not take.
	// The error tells since when, by a method Since() time.Time that errors.As
	// finds; so does that of Consuming.
	Ready() error

	// Consuming is nil when every running Consume has a live subscription, else
	// it names the queues that are not consumed and why.
	Consuming() error

	// Close ends every Consume and Observe as if their contexts had ended,
	// waits for outstanding confirms until ctx ends, then cuts the connection,
	// gone broker or not. Later calls on the Broker return ErrClosed.
	Close(ctx context.Context) error
}

// Subscription is one queue to consume.
type Subscription struct {
	Queue string
	// Prefetch is how many unsettled messages one session may hold, and so how
	// many Handle calls run at once.
	Prefetch int
	// Stop, closed, ends the subscription gracefully.
	Stop <-chan struct{}
	// Handle is called once per delivery. Its context ends when the delivery can
	// no longer be settled: the session that delivered it is lost, or the
	// Consume's own context has ended.
	Handle func(context.Context, *Delivery)
}

// Observation is a live view on some events.
type Observation struct {
	Exchange string // required: the events' exchange
	Keys     []string
	Buffer   int // 0: 256
	Ready    func()
	See      func(key string, m Message)
}

// Delivery is one message, handed out by one session of a Consume.
type Delivery struct {
	Message
	Queue         string
	Exchange, Key string // what it was last published or dead-lettered with
	// Count is how often the broker delivered this message before and had it
	// returned: 0 the first time.
	Count int
	// Tries is how often the handler was called for this delivery before: 0 the
	// first time. A held delivery is tried in place, its middleware with it.
	Tries int
	// Settler settles it with the session that delivered it, and no other.
	Settler Settler
}

// Delivered is how often this attempt at the message was delivered before and
// handed back, whichever copy of it: [Delivery.Count], unless the consumer
// renewed it.
func (d *Delivery) Delivered() int {
	n, ok := integer(d.Headers[HeaderDelivered])
	if !ok || n < 0 || n > 1_000_000 {
		n = 0
	}
	return d.Count + int(n)
}

// Settler ends a delivery. Returning from Handle without settling leaves the
// message unacknowledged until its session ends.
type Settler interface {
	// Ack removes the message from its queue. An error means that the session
	// is lost and that the message will be delivered again.
	Ack() error
	// Lose ends the session as a crash would: every unsettled delivery of it
	// goes back to the queue, and the broker counts one delivery for each. When
	// it returns, the contexts of their Handle calls have ended.
	Lose()
}

// TopologyMode says what Declare does.
type TopologyMode string

// The ways to come by the topology.
const (
	TopologyDeclare TopologyMode = "declare" // create what is missing
	TopologyCheck   TopologyMode = "check"   // only verify; needs no right to configure
)

// The errors of a Broker that callers tell apart.
var (
	ErrNoExchange = errors.New("an observation needs an exchange")
	ErrUnroutable = errors.New("no queue is bound to this key")
	ErrTopology   = errors.New("the broker refused the topology")
	ErrNoQueue    = errors.New("no such queue")
	ErrHeld       = errors.New("what others hold of the queue was not seen")
	ErrClosed     = errors.New("the broker connection is closed")
)
