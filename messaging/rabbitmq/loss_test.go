package rabbitmq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// load publishes and consumes until stop, and fails if something that was
// confirmed never comes.
type load struct {
	f        *fixture
	progress chan struct{}
	stopping chan struct{}

	mu        sync.Mutex
	confirmed map[string]bool
	seen      map[string]bool
	running   sync.WaitGroup
	stop      func()
}

func (f *fixture) load(publishing, consuming *rabbitmq.Broker) *load {
	f.Helper()
	l := &load{
		f: f, progress: make(chan struct{}, 1), stopping: make(chan struct{}),
		confirmed: map[string]bool{}, seen: map[string]bool{},
	}
	l.stop = f.consume(consuming, 20, func(_ context.Context, d *messaging.Delivery) {
		l.mu.Lock()
		l.seen[d.ID] = true
		l.mu.Unlock()
		_ = d.Settler.Ack() // if that fails it comes again
		select {
		case l.progress <- struct{}{}:
		default:
		}
	})
	for p := range 16 {
		l.running.Go(func() { l.publish(publishing, p) })
	}
	return l
}

func (l *load) publish(b *rabbitmq.Broker, publisher int) {
	for n := 0; ; n++ {
		select {
		case <-l.stopping:
			return
		default:
		}
		id := fmt.Sprintf("%d-%d", publisher, n)
		if b.Publish(l.f.ctx, messagingtest.Shop().EventsExchange(), key, message(id)) != nil {
			continue // unknown: it may come or not
		}
		l.mu.Lock()
		l.confirmed[id] = true
		l.mu.Unlock()
	}
}

// deliver waits until some more messages were delivered.
func (l *load) deliver() {
	l.f.Helper()
	for range 50 {
		receive(l.f, l.progress, "deliveries")
	}
}

func (l *load) finish() {
	l.f.Helper()
	close(l.stopping)
	l.running.Wait()
	for l.missing() > 0 {
		receive(l.f, l.progress, fmt.Sprintf("%d confirmed messages", l.missing()))
	}
	l.stop()
	l.f.Logf("%d messages were confirmed", len(l.confirmed))
}

func (l *load) missing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for id := range l.confirmed {
		if !l.seen[id] {
			n++
		}
	}
	return n
}

func TestDropsLoseNothingConfirmed(t *testing.T) {
	f := newFixture(t)
	l := f.load(f.declared(rabbitmq.Options{}), f.declared(rabbitmq.Options{}))
	for range 4 {
		l.deliver()
		f.dropConnections()
	}
	l.deliver()
	l.finish()
}

func TestKilledBrokerLosesNothingConfirmed(t *testing.T) {
	f := newFixture(t)
	opts := rabbitmq.Options{MaxBackoff: time.Second}
	l := f.load(f.declared(opts), f.declared(opts))
	l.deliver()
	f.server.Kill(t)
	f.server.Start(t)
	l.deliver()
	l.finish()
}
