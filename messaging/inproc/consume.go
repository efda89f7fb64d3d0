package inproc

import (
	"context"
	"sync"
	"time"

	"boxoffice/messaging"
)

// Consume implements [messaging.Broker]. It waits for a queue that does not
// exist yet. After a loss it subscribes again at once, without waiting for the
// handlers of the lost session; it waits for those before it returns.
func (c *Conn) Consume(ctx context.Context, sub messaging.Subscription) error {
	ctx, leave, err := c.enter(ctx, c.closing)
	if err != nil {
		return err
	}
	defer leave()
	sub.Prefetch = max(sub.Prefetch, 1)
	state := c.follow(sub.Queue)
	defer c.unfollow(state)
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for {
		session, lost := c.subscribe(ctx, sub, state, &handlers)
		if session == nil {
			return nil
		}
		select {
		case <-lost:
			continue
		case <-sub.Stop:
		case <-ctx.Done():
		}
		session.stop()
		handlers.Wait()
		session.lose()
		return nil
	}
}

// subscribe begins a session as soon as there is a queue to consume. It is nil
// when the subscription ends first.
func (c *Conn) subscribe(ctx context.Context, sub messaging.Subscription, state *consumption, handlers *sync.WaitGroup) (_ *session, lost <-chan struct{}) {
	server := c.server
	for {
		server.mu.Lock()
		q, changed := server.queues[sub.Queue], server.changed
		select {
		case <-sub.Stop:
		case <-ctx.Done():
		default:
			if server.up && q != nil {
				s, lost := c.newConsumer(ctx, q, sub, state, handlers)
				server.mu.Unlock()
				return s, lost
			}
		}
		server.mu.Unlock()
		select {
		case <-changed:
		case <-sub.Stop:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// newConsumer attaches a session that runs a handler for each delivery.
func (c *Conn) newConsumer(ctx context.Context, q *queue, sub messaging.Subscription, state *consumption, handlers *sync.WaitGroup) (*session, <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	lost := make(chan struct{}) // ctx also ends with the subscription, which is no loss
	s := &session{conn: c, queue: q, held: map[*entry]struct{}{}, prefetch: sub.Prefetch}
	state.set(true)
	s.lost = func() {
		state.set(false)
		cancel()
		close(lost)
	}
	s.deliver = func(e *entry) {
		handlers.Add(1)
		count := e.count // it changes when the session is lost
		go func() {
			defer handlers.Done()
			sub.Handle(ctx, &messaging.Delivery{
				Message: handOut(e.Message), Exchange: e.exchange, Key: e.key,
				Queue: q.Name, Count: count, Settler: settler{s, e},
			})
		}()
	}
	c.attach(s)
	q.sessions = append(q.sessions, s)
	q.dispatch()
	return s, lost
}

// follow makes a Consume one of those that Consuming looks at, until unfollow.
func (c *Conn) follow(queue string) *consumption {
	state := &consumption{queue: queue, since: time.Now()}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.consuming[state] = struct{}{}
	return state
}

func (c *Conn) unfollow(state *consumption) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	delete(c.consuming, state)
}

// stop takes no more messages.
func (s *session) stop() {
	s.conn.server.mu.Lock()
	defer s.conn.server.mu.Unlock()
	s.stopped = true
}
