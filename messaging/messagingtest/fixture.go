package messagingtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boxoffice/messaging"
)

// patience is how long a clause may take before it fails. It is no measure of
// speed: the machine may be busy.
const patience = 3 * time.Minute

// The topology of the clauses: two delays that pass while a test waits, and one that does not.
const (
	shortDelay = 50 * time.Millisecond
	longDelay  = 150 * time.Millisecond
	noDelayEnd = time.Hour
)

var (
	ordersQueue = Shop().Queue(Orders, "PaymentRefused")
	stockQueue  = Shop().Queue(Stock, "PaymentRefused")
	placedQueue = Shop().Queue(Stock, "OrderPlaced")
)

// fixture is one clause's test with its broker.
type fixture struct {
	*testing.T
	env Env
	ctx context.Context // ends when patience does
}

func (h Harness) newFixture(t *testing.T) *fixture {
	t.Helper()
	env := h.Fresh(t)
	for ability, has := range map[Ability]bool{
		DropConnections: env.DropConnections != nil,
		Outage:          env.Outage != nil,
		SmallFrames:     env.ConnectSmall != nil,
	} {
		if _, lacks := h.Lacks[ability]; has == lacks {
			t.Fatalf("the harness does not say whether it has or lacks: %s", ability)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &fixture{T: t, env: env, ctx: ctx}
}

func topology() messaging.Topology {
	return Topology([]time.Duration{shortDelay, longDelay, noDelayEnd})
}

// connect is a new connection, closed after the clause.
func (f *fixture) connect(name string) messaging.Broker {
	f.Helper()
	b := f.env.Connect(f.T, name)
	f.Cleanup(func() { f.close(b) })
	return b
}

// close closes a connection and fails if that does not end well.
func (f *fixture) close(b messaging.Broker) {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		f.Errorf("close: %v", err)
	}
}

// declared is a new connection, with the topology in place.
func (f *fixture) declared(name string) messaging.Broker {
	f.Helper()
	b := f.connect(name)
	if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
		f.Fatalf("declare: %v", err)
	}
	return b
}

// message is a small message that its id tells apart.
func message(id string) messaging.Message {
	return messaging.Message{ID: id, ContentType: "text/plain", Body: []byte("body of " + id)}
}

// ids is n message ids with a prefix, in order.
func ids(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return list
}

// publish publishes one message, which must be confirmed.
func (f *fixture) publish(b messaging.Broker, exchange, key string, m messaging.Message) {
	f.Helper()
	if err := b.Publish(f.ctx, exchange, key, m); err != nil {
		f.Fatalf("publish %s %s: %v", exchange, key, err)
	}
}

// publishAll publishes an event per id, in order, to stock.OrderPlaced.
func (f *fixture) publishAll(b messaging.Broker, ids []string) {
	f.Helper()
	for _, id := range ids {
		f.publish(b, Shop().EventsExchange(), "OrderPlaced", message(id))
	}
}

// park puts a message per id into the dead queue of a work queue.
func (f *fixture) park(b messaging.Broker, workQueue string, ids []string) (deadQueue string) {
	f.Helper()
	for _, id := range ids {
		f.publish(b, Shop().DeadExchange(), workQueue, message(id))
	}
	return messaging.DeadQueue(workQueue)
}

// insist publishes to stock.OrderPlaced until the message is confirmed, as a
// service would.
func (f *fixture) insist(b messaging.Broker, m messaging.Message) {
	for {
		err := b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", m)
		if err == nil {
			return
		}
		if f.ctx.Err() != nil {
			f.Errorf("publish %s: %v", m.ID, err)
			return
		}
	}
}

// contents is the ids that wait in a queue, in order.
func (f *fixture) contents(b messaging.Broker, queue string) []string {
	f.Helper()
	list := []string{}
	err := b.Browse(f.ctx, queue, func(_ context.Context, m messaging.Message) (bool, error) {
		list = append(list, m.ID)
		return false, nil
	})
	if err != nil && !errors.Is(err, messaging.ErrHeld) {
		f.Fatalf("browse %s: %v", queue, err)
	}
	return list
}

// expectContents fails unless just these messages wait in the queue, in any order.
func (f *fixture) expectContents(b messaging.Broker, queue string, want ...string) {
	f.Helper()
	got := f.contents(b, queue)
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		f.Errorf("%s holds %v, want %v", queue, got, want)
	}
}

// drain consumes a queue on a connection of its own until every id was seen,
// and returns how often each was.
func (f *fixture) drain(queue string, ids []string) map[string]int {
	f.Helper()
	b := f.connect("drain")
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	var mu sync.Mutex
	seen := map[string]int{}
	all := make(chan struct{})
	if len(ids) == 0 {
		close(all)
	}
	c := f.consume(b, queue, 50, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Logf("ack %s: %v", d.ID, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		seen[d.ID]++
		if missing[d.ID] {
			delete(missing, d.ID)
			if len(missing) == 0 {
				close(all)
			}
		}
	})
	select {
	case <-all:
	case <-f.ctx.Done():
		mu.Lock()
		defer mu.Unlock()
		f.Fatalf("%s: %d of %d messages never came: %v", queue, len(missing), len(ids), slices.Sorted(maps.Keys(missing)))
	}
	c.finish()
	f.close(b)
	return seen
}

// next takes one message from a queue, on a connection of its own.
func (f *fixture) next(queue string) *messaging.Delivery {
	f.Helper()
	b := f.connect("next")
	got := make(chan *messaging.Delivery, 1)
	var taken atomic.Bool
	c := f.consume(b, queue, 1, func(_ context.Context, d *messaging.Delivery) {
		if !taken.CompareAndSwap(false, true) {
			return // a second one goes back when the session ends
		}
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack %s: %v", d.ID, err)
		}
		got <- d
	})
	d := receive(f, got, "a message from "+queue)
	c.finish()
	f.close(b)
	return d
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
