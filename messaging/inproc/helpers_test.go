package inproc

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
)

const (
	work = "stock.OrderPlaced"
	dead = "stock.OrderPlaced.dead"
)

// delay is long: time is virtual in these tests.
const delay = time.Hour

// bed is a broker with the real topology, in a synctest bubble.
type bed struct {
	*testing.T
	server *Server
	conn   *Conn
}

func bubble(t *testing.T, opts Options, test func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := New(opts)
		b := &bed{T: t, server: server, conn: server.Connect("test")}
		defer b.close(b.conn)
		if err := b.conn.Declare(t.Context(), messagingtest.Topology([]time.Duration{delay}), messaging.TopologyDeclare); err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

func (b *bed) close(c *Conn) {
	b.Helper()
	if err := c.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

func (b *bed) publish(exchange, key string, ids ...string) {
	b.Helper()
	for _, id := range ids {
		if err := b.conn.Publish(b.Context(), exchange, key, messaging.Message{ID: id}); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bed) expectDepth(queue string, ready, unacked int) {
	b.Helper()
	if r, u := b.server.Depth(queue); r != ready || u != unacked {
		b.Errorf("%s: %d ready and %d unacked, want %d and %d", queue, r, u, ready, unacked)
	}
}

// contents is what waits in the work queue, in order.
func (b *bed) contents() (list []messaging.Message) {
	b.Helper()
	err := b.conn.Browse(b.Context(), work, func(_ context.Context, m messaging.Message) (bool, error) {
		list = append(list, m)
		return false, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// consumer keeps the deliveries of a queue, unsettled.
type consumer struct {
	mu       sync.Mutex
	got      []*messaging.Delivery
	contexts []context.Context
	done     chan error
}

func (b *bed) consume(ctx context.Context, c *Conn, queue string, prefetch int) *consumer {
	b.Helper()
	k := &consumer{done: make(chan error, 1)}
	go func() {
		k.done <- c.Consume(ctx, messaging.Subscription{Queue: queue, Prefetch: prefetch, Handle: func(ctx context.Context, d *messaging.Delivery) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.got = append(k.got, d)
			k.contexts = append(k.contexts, ctx)
		}})
	}()
	synctest.Wait()
	return k
}

// take is the deliveries since the last take, once all is quiet.
func (k *consumer) take() []*messaging.Delivery {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.got
	k.got = nil
	return got
}
