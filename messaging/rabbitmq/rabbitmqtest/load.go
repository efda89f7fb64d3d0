package rabbitmqtest

import (
	"context"
	"fmt"
	"sync"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// Load publishes and consumes until stop, and fails if something that was
// confirmed never comes.
type Load struct {
	f        *Fixture
	progress chan struct{}
	stopping chan struct{}

	mu        sync.Mutex
	confirmed map[string]bool
	seen      map[string]bool
	running   sync.WaitGroup
	stop      func()
}

// Load begins one.
func (f *Fixture) Load(publishing, consuming *rabbitmq.Broker) *Load {
	f.Helper()
	l := &Load{
		f: f, progress: make(chan struct{}, 1), stopping: make(chan struct{}),
		confirmed: map[string]bool{}, seen: map[string]bool{},
	}
	l.stop = f.Consume(consuming, 20, func(_ context.Context, d *messaging.Delivery) {
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

func (l *Load) publish(b *rabbitmq.Broker, publisher int) {
	for n := 0; ; n++ {
		select {
		case <-l.stopping:
			return
		default:
		}
		id := fmt.Sprintf("%d-%d", publisher, n)
		if b.Publish(l.f.Ctx, messagingtest.Shop().EventsExchange(), Key, Message(id)) != nil {
			continue // unknown: it may come or not
		}
		l.mu.Lock()
		l.confirmed[id] = true
		l.mu.Unlock()
	}
}

// Deliver waits until some more messages were delivered.
func (l *Load) Deliver() {
	l.f.Helper()
	for range 50 {
		Receive(l.f, l.progress, "deliveries")
	}
}

// Finish stops publishing and waits for everything that was confirmed.
func (l *Load) Finish() {
	l.f.Helper()
	close(l.stopping)
	l.running.Wait()
	for l.missing() > 0 {
		Receive(l.f, l.progress, fmt.Sprintf("%d confirmed messages", l.missing()))
	}
	l.stop()
	l.f.Logf("%d messages were confirmed", len(l.confirmed))
}

func (l *Load) missing() int {
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
