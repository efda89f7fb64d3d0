package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// defaultPrefetch bounds a session whose subscription does not: without a
// prefetch the client buffers a whole queue.
const defaultPrefetch = 64

// Consume implements [messaging.Broker]. It waits for a queue that does not
// exist yet. After a loss it subscribes again without waiting for the handlers
// of the lost session; it waits for those before it returns.
func (b *Broker) Consume(ctx context.Context, s messaging.Subscription) error {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.Prefetch = min(cmp.Or(max(s.Prefetch, 0), defaultPrefetch), math.MaxUint16)
	c := &consumer{Broker: b, sub: s}
	c.state.down(errors.New("not subscribed yet"))
	b.follow(c)
	defer b.unfollow(c)
	defer c.handlers.Wait()

	open, shut := context.WithCancel(ctx) // ends when no more deliveries may begin
	defer shut()
	b.tasks.Go(func() {
		select {
		case <-s.Stop:
			shut()
		case <-open.Done():
		}
	})
	c.run(ctx, open)
	return nil
}

// consumer is one Consume.
type consumer struct {
	*Broker
	sub      messaging.Subscription
	handlers sync.WaitGroup // of all sessions
	state    consumerState
	failing  streak.Streak // of what the connection is not to blame for
}

func (c *consumer) run(ctx, open context.Context) {
	for retry := c.newBackoff(); ; {
		session, err := c.subscribe(ctx, open)
		if err == nil {
			retry.Reset()
			c.subscribed(ctx)
			err = session.conn.blame(session.serve(open))
		}
		if open.Err() != nil {
			return
		}
		c.state.down(err)
		if errors.Is(err, errNoConnection) { // the link says that, and subscribe waits for the next
			retry.Reset()
			continue
		}
		if r, say := c.failing.Failed(err); say {
			c.log.WarnContext(ctx, "consuming is interrupted", "queue", c.sub.Queue, "error", err, "tries", r.Tries, "lasts", r.Lasted())
		}
		sleep(open, retry.NextBackOff())
	}
}

func (c *consumer) subscribed(ctx context.Context) {
	c.state.up()
	if r, ended := c.failing.Worked(); ended {
		c.log.InfoContext(ctx, "consuming again", "queue", c.sub.Queue, "tries", r.Tries, "after", r.Lasted())
	}
}

// subscribe begins a session on a channel of its own.
func (c *consumer) subscribe(ctx, open context.Context) (*session, error) {
	conn, err := c.consuming.up(open)
	if err != nil {
		return nil, err
	}
	if err := c.topology.ensure(open, &c.tasks, conn); err != nil {
		return nil, conn.blame(err)
	}
	s, err := await(open, &c.tasks, func() (*session, error) {
		return c.newSession(ctx, conn)
	}, func(s *session) { s.end(errLost) })
	if err != nil {
		return nil, conn.blame(err)
	}
	return s, nil
}

func (c *consumer) newSession(ctx context.Context, conn *connection) (*session, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	s := &session{
		consumer: c, conn: conn, channel: channel,
		closed: channel.NotifyClose(make(chan *amqp.Error, 1)),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	err = channel.Qos(c.sub.Prefetch, 0, false)
	if err == nil {
		s.deliveries, err = channel.Consume(c.sub.Queue, consumerTag, false, false, false, false, nil)
	}
	if err != nil {
		if refusal(err, amqp.NotFound) {
			conn.incomplete.Store(true)
		}
		s.end(errLost)
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

// consumerTag need only be unique on its channel, which has one consumer.
const consumerTag = "messaging"
