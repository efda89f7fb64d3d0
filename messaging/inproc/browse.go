package inproc

import (
	"context"
	"fmt"

	"boxoffice/messaging"
)

// Browse implements [messaging.Broker]. It holds the messages that it shows, as
// a consumer would, and gives back those that it did not remove.
func (c *Conn) Browse(ctx context.Context, queue string, visit func(context.Context, messaging.Message) (bool, error)) error {
	ctx, leave, err := c.enter(ctx, c.closing)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, entries, others, err := c.hold(ctx, queue, func() { cancel(errLost) })
	if err != nil {
		return fmt.Errorf("browse %s: %w", queue, err)
	}
	defer s.lose()
	for _, e := range entries {
		if ctx.Err() != nil {
			return fmt.Errorf("browse %s: %w", queue, context.Cause(ctx))
		}
		remove, err := visit(ctx, handOut(e.Message))
		if err != nil {
			return fmt.Errorf("browse %s: %w", queue, err)
		}
		if !remove {
			continue
		}
		if err := s.ack(e); err != nil {
			return fmt.Errorf("browse %s: remove a message: %w", queue, err)
		}
	}
	if others {
		return fmt.Errorf("browse %s: %w", queue, messaging.ErrHeld)
	}
	return nil
}

// hold takes everything that is ready in a queue into a session, and reports
// whether others hold more of it.
func (c *Conn) hold(ctx context.Context, queue string, lost func()) (s *session, entries []*entry, others bool, err error) {
	if err := c.server.lockUp(ctx); err != nil {
		return nil, nil, false, err
	}
	defer c.server.mu.Unlock()
	q := c.server.queues[queue]
	if q == nil {
		return nil, nil, false, messaging.ErrNoQueue
	}
	others = q.unacked > 0
	s = &session{conn: c, queue: q, held: map[*entry]struct{}{}, lost: lost}
	c.attach(s)
	for first := q.ready.Front(); first != nil; first = q.ready.Front() {
		entries = append(entries, first.Value.(*entry))
		s.take(first)
	}
	return s, entries, others, nil
}
