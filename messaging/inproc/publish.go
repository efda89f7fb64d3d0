package inproc

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"

	"boxoffice/messaging"
)

// Publish implements [messaging.Broker]. While the broker is stopped, or full,
// it waits until ctx ends.
func (c *Conn) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	ctx, leave, err := c.enter(ctx, c.cut)
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m, err = c.server.fit(m); err != nil {
		return err
	}
	err = c.server.publish(ctx, exchange, key, m)
	switch to := (target{exchange, key}); {
	case err == nil:
		c.refused.Worked(to)
	case errors.Is(err, messaging.ErrUnroutable):
		c.refused.Failed(to, fmt.Errorf("publish to %q with key %q: %w", exchange, key, err))
	}
	return err
}

// target is where messages go.
type target struct{ exchange, key string }

// waiter is a publisher that waits for room.
type waiter struct {
	since time.Time
	turn  chan struct{} // gets a token when there may be room
}

func (s *Server) publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	var turn *list.Element // this publisher's place among those that wait for room
	defer func() {
		if turn != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waiting.Remove(turn)
			s.nextTurn()
		}
	}()
	for {
		if err := s.lockUp(ctx); err != nil {
			return err
		}
		stored, err := s.store(exchange, key, m, turn)
		if !stored && err == nil && turn == nil {
			turn = s.waiting.PushBack(&waiter{time.Now(), make(chan struct{}, 1)})
		}
		s.mu.Unlock()
		if stored || err != nil {
			return err
		}
		select {
		case <-turn.Value.(*waiter).turn:
		case <-ctx.Done():
			return fmt.Errorf("the broker's memory is full: %w", context.Cause(ctx))
		}
	}
}

// store enqueues m wherever it belongs, unless there is no room for it or
// others wait for room before it: then it is neither stored nor an error.
func (s *Server) store(exchange, key string, m messaging.Message, turn *list.Element) (stored bool, err error) {
	queues, err := s.lookUp(exchange, key)
	if err != nil {
		return false, err
	}
	need := weight(m) * int64(len(queues))
	if need > s.maxBytes {
		return false, fmt.Errorf("a message of %d bytes is larger than the broker's memory", len(m.Body))
	}
	if s.bytes+need > s.maxBytes || s.waiting.Len() > 0 && s.waiting.Front() != turn {
		return false, nil
	}
	for _, q := range queues {
		q.enqueue(m, exchange, key)
	}
	s.show(exchange, key, m)
	return true, nil
}

// lookUp is where a publish goes: to one queue at least.
func (s *Server) lookUp(exchange, key string) ([]*queue, error) {
	x := s.exchanges[exchange]
	if x == nil {
		return nil, fmt.Errorf("there is no exchange %q", exchange)
	}
	queues := x.route(key)
	if len(queues) == 0 {
		return nil, messaging.ErrUnroutable
	}
	return queues, nil
}

// release gives back the room of a message that left its queue.
func (s *Server) release(n int64) {
	s.bytes -= n
	s.nextTurn()
}

func (s *Server) nextTurn() {
	if first := s.waiting.Front(); first != nil {
		select {
		case first.Value.(*waiter).turn <- struct{}{}:
		default: // it was woken already
		}
	}
}
