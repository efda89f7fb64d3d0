package inproc

import (
	"context"
	"fmt"
	"slices"

	"boxoffice/messaging"
)

type exchange struct{ bindings []binding }

type binding struct {
	key     string
	pattern pattern
	queue   *queue
}

// Declare implements [messaging.Broker]. Nothing is declared if the topology
// is refused. A check looks at exchanges and queues only, as RabbitMQ's does.
func (c *Conn) Declare(ctx context.Context, t messaging.Topology, mode messaging.TopologyMode) error {
	ctx, leave, err := c.enter(ctx, c.cut)
	if err != nil {
		return err
	}
	defer leave()
	if err := c.server.lockUp(ctx); err != nil {
		return fmt.Errorf("declare the topology: %w", err)
	}
	defer c.server.mu.Unlock()
	if mode == messaging.TopologyCheck {
		return c.server.check(t)
	}
	return c.server.declare(t)
}

func (s *Server) check(t messaging.Topology) error {
	for _, name := range t.Exchanges {
		if s.exchanges[name] == nil {
			return fmt.Errorf("%w: there is no exchange %q", messaging.ErrTopology, name)
		}
	}
	for _, q := range t.Queues {
		if s.queues[q.Name] == nil {
			return fmt.Errorf("%w: there is no queue %q", messaging.ErrTopology, q.Name)
		}
	}
	return nil
}

func (s *Server) declare(t messaging.Topology) error {
	if err := s.acceptable(t); err != nil {
		return err
	}
	for _, name := range t.Exchanges {
		if s.exchanges[name] == nil {
			s.exchanges[name] = &exchange{}
		}
	}
	for _, q := range t.Queues {
		if s.queues[q.Name] == nil {
			s.queues[q.Name] = &queue{Queue: q, server: s}
		}
	}
	for _, b := range t.Bindings {
		x, q := s.exchanges[b.Exchange], s.queues[b.Queue]
		if !slices.ContainsFunc(x.bindings, func(old binding) bool { return old.key == b.Key && old.queue == q }) {
			x.bindings = append(x.bindings, binding{b.Key, split(b.Key), q})
		}
	}
	s.announce()
	for _, q := range s.queues {
		q.deadLetterStuck()
	}
	return nil
}

// acceptable says what is wrong with t before any of it is declared.
func (s *Server) acceptable(t messaging.Topology) error {
	queues := map[string]messaging.Queue{}
	for name, q := range s.queues {
		queues[name] = q.Queue
	}
	for _, q := range t.Queues {
		if old, ok := queues[q.Name]; ok && old != q {
			return fmt.Errorf("%w: queue %q exists with other arguments", messaging.ErrTopology, q.Name)
		}
		if q.Name == "" || q.TTL < 0 || q.DeliveryLimit < 0 {
			return fmt.Errorf("%w: queue %q has no name or a negative argument", messaging.ErrTopology, q.Name)
		}
		queues[q.Name] = q
	}
	for _, b := range t.Bindings {
		if _, ok := queues[b.Queue]; !ok {
			return fmt.Errorf("%w: binding %q: there is no queue %q", messaging.ErrTopology, b.Key, b.Queue)
		}
		if s.exchanges[b.Exchange] == nil && !slices.Contains(t.Exchanges, b.Exchange) {
			return fmt.Errorf("%w: binding %q: there is no exchange %q", messaging.ErrTopology, b.Key, b.Exchange)
		}
	}
	return nil
}

// route is every queue that the key is bound to, each once.
func (x *exchange) route(key string) []*queue {
	words := split(key)
	var queues []*queue
	for _, b := range x.bindings {
		if b.pattern.matches(words) && !slices.Contains(queues, b.queue) {
			queues = append(queues, b.queue)
		}
	}
	return queues
}

// lockUp locks s once it is up. It fails, unlocked, when ctx ends first.
func (s *Server) lockUp(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.up {
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the broker is stopped: %w", context.Cause(ctx))
		}
	}
}
