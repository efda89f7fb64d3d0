package rabbitmq

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// Browse implements [messaging.Broker]. It takes all messages of the queue into
// memory before it visits the first. Looking at a message counts as a delivery.
func (b *Broker) Browse(ctx context.Context, queue string, visit func(context.Context, messaging.Message) (bool, error)) error {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := b.browse(ctx, queue, visit); err != nil {
		return fmt.Errorf("browse %s: %w", queue, err)
	}
	return nil
}

func (b *Broker) browse(ctx context.Context, queue string, visit func(context.Context, messaging.Message) (bool, error)) error {
	conn, err := b.consuming.up(ctx)
	if err != nil {
		return err
	}
	channel, err := await(ctx, &b.tasks, conn.Channel, conn.closeChannel)
	if err != nil {
		return err
	}
	v := &browsing{Broker: b, conn: conn, channel: channel, queue: queue}
	defer v.end(ctx)
	if err := v.take(ctx); err != nil {
		return err
	}
	for i, d := range v.held {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		remove, err := visit(ctx, received(d))
		if err != nil {
			return err
		}
		if !remove {
			continue
		}
		if err := d.Ack(false); err != nil {
			return fmt.Errorf("remove a message: %w", err)
		}
		v.held[i] = nil
	}
	return nil
}

// browsing is one Browse.
type browsing struct {
	*Broker
	conn    *connection
	channel *amqp.Channel
	queue   string
	held    []*amqp.Delivery // what the queue held, unacknowledged; nil where it was removed

	// asking is held during a request: the channel takes one at a time, and an
	// abandoned one may still be waiting for its answer.
	asking sync.Mutex
}

// take gets all messages that are in the queue now, and holds them, so that
// nothing comes up twice and no one else looks at them meanwhile.
func (v *browsing) take(ctx context.Context) error {
	n, err := v.count(ctx)
	if err != nil {
		return err
	}
	for range n {
		d, err := v.next(ctx)
		if err != nil || d == nil {
			return err
		}
		v.held = append(v.held, d)
	}
	return nil
}

// count is how many messages are ready.
func (v *browsing) count(ctx context.Context) (int, error) {
	q, err := await(ctx, &v.tasks, func() (amqp.Queue, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		return v.channel.QueueDeclarePassive(v.queue, true, false, false, false, nil)
	}, func(amqp.Queue) {})
	if refusal(err, amqp.NotFound) {
		return 0, fmt.Errorf("%w: %w", messaging.ErrNoQueue, err)
	}
	return q.Messages, err
}

// next is the next message, or nil if there is none.
func (v *browsing) next(ctx context.Context) (*amqp.Delivery, error) {
	return await(ctx, &v.tasks, func() (*amqp.Delivery, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		d, ok, err := v.channel.Get(v.queue, false)
		if err != nil || !ok {
			return nil, err
		}
		return &d, nil
	}, func(*amqp.Delivery) {})
}

// end gives back what was not removed.
func (v *browsing) end(ctx context.Context) {
	v.giveBack(ctx)
	v.conn.bounded(func() {
		v.asking.Lock()
		defer v.asking.Unlock()
		_ = v.channel.Close() // an error means that it is gone already
	})
}

// giveBack returns the messages in order and waits until they are there again,
// for who looks again at once. A quorum queue keeps the order of no more than 32
// at a time, and of none when the channel just closes. It does not wait for
// long: others may be taking them as they come.
func (v *browsing) giveBack(ctx context.Context) {
	const atOnce = 16
	kept := slices.DeleteFunc(v.held, func(d *amqp.Delivery) bool { return d == nil })
	if len(kept) == 0 {
		return
	}
	limit := time.Second + time.Duration(len(kept))*5*time.Millisecond
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	want, err := v.count(ctx)
	for some := range slices.Chunk(kept, atOnce) {
		for _, d := range some {
			if err == nil {
				err = d.Nack(false, true)
			}
		}
		want += len(some)
		for n := 0; err == nil && n < want; {
			if n, err = v.count(ctx); n < want {
				sleep(ctx, time.Millisecond)
			}
		}
		if err != nil {
			return // the end of the channel gives back the rest
		}
	}
}
