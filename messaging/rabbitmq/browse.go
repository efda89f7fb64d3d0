package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// A quorum queue has to come to the same state when it replays its log, and
// RabbitMQ before 4.2 does not where one channel with more than 32 consumers
// dies: it takes back what they hold in an order that is another one after a
// restart, and a message that was removed since then is another message. To the
// queue, each unsettled basic.get is a consumer. So a look is a few consumers
// that hold many messages each, whose order is kept. See docs/adr/0011.
const (
	heldByConsumer  = math.MaxUint16 // the largest prefetch
	consumersAtOnce = 32
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
	for _, d := range v.held {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		remove, err := visit(ctx, received(&d))
		if err != nil {
			return err
		}
		if !remove {
			continue
		}
		if err := d.Ack(false); err != nil {
			return fmt.Errorf("remove a message: %w", err)
		}
		v.removed++
	}
	return nil
}

// browsing is one Browse.
type browsing struct {
	*Broker
	conn    *connection
	channel *amqp.Channel
	queue   string
	held    []amqp.Delivery // what the queue held, the oldest first
	removed int             // how many of them

	// asking is held during a request: the channel takes one at a time, and an
	// abandoned one may still be waiting for its answer.
	asking sync.Mutex
}

// take gets all messages that are in the queue now, and holds them, so that
// nothing comes up twice and no one else looks at them meanwhile.
func (v *browsing) take(ctx context.Context) error {
	there, err := v.count(ctx, v.channel)
	if err != nil {
		return err
	}
	if most := consumersAtOnce * heldByConsumer; there > most {
		return fmt.Errorf("it holds %d messages, and no more than %d can be looked at", there, most)
	}
	for len(v.held) < there {
		missing := there - len(v.held)
		got, err := v.consume(ctx, min(missing, heldByConsumer))
		if err != nil || got == 0 {
			return err
		}
	}
	return nil
}

// consume takes so many messages, or fewer if others take some.
func (v *browsing) consume(ctx context.Context, most int) (got int, err error) {
	tag := consumerTag + "-" + strconv.Itoa(len(v.held))
	deliveries, err := ask(ctx, v, func() (<-chan amqp.Delivery, error) {
		if err := v.channel.Qos(most, 0, false); err != nil {
			return nil, err
		}
		return v.channel.Consume(v.queue, tag, false, false, false, false, nil)
	})
	if err != nil {
		return 0, err
	}
	before := len(v.held)
	if err := v.receive(ctx, deliveries, most); err != nil {
		return 0, err
	}
	// What is parked from now on is not for us.
	if _, err := ask(ctx, v, func() (none struct{}, err error) { return none, v.channel.Cancel(tag, false) }); err != nil {
		return 0, err
	}
	for d := range deliveries { // on their way when we stopped waiting
		v.held = append(v.held, d)
	}
	return len(v.held) - before, nil
}

// receive waits for so many messages, or until the queue has no more.
func (v *browsing) receive(ctx context.Context, deliveries <-chan amqp.Delivery, most int) error {
	const patience = 50 * time.Millisecond
	silence := time.NewTimer(patience)
	defer silence.Stop()
	for got, empty := 0, false; got < most; {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the channel was lost")
			}
			v.held = append(v.held, d)
			got++
			empty = false
		case <-silence.C:
			n, err := v.count(ctx, v.channel)
			if err != nil {
				return err
			}
			if empty && n == 0 {
				return nil // twice: what was delivered before has had its time to arrive
			}
			empty = n == 0
		case <-ctx.Done():
			return ended(ctx)
		}
		silence.Reset(patience)
	}
	return nil
}

// ask makes a request on the channel of v.
func ask[T any](ctx context.Context, v *browsing, request func() (T, error)) (T, error) {
	return await(ctx, &v.tasks, func() (T, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		return request()
	}, func(T) {})
}

// count is how many messages are ready.
func (v *browsing) count(ctx context.Context, channel *amqp.Channel) (int, error) {
	q, err := ask(ctx, v, func() (amqp.Queue, error) {
		return channel.QueueDeclarePassive(v.queue, true, false, false, false, nil)
	})
	if refusal(err, amqp.NotFound) {
		return 0, fmt.Errorf("%w: %w", messaging.ErrNoQueue, err)
	}
	return q.Messages, err
}

// end gives back what was not removed: the queue does that, in order, when the
// channel is gone.
func (v *browsing) end(ctx context.Context) {
	back := len(v.held) - v.removed
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second+time.Duration(back)*time.Millisecond)
	defer cancel()
	others, err := v.count(ctx, v.channel)
	v.conn.bounded(func() {
		v.asking.Lock()
		defer v.asking.Unlock()
		_ = v.channel.Close() // an error means that it is gone already
	})
	if err == nil && back > 0 {
		v.awaitReady(ctx, others+back)
	}
}

// awaitReady waits until so many messages are there, for who looks again at
// once. It does not wait for long: others may be taking them as they come.
func (v *browsing) awaitReady(ctx context.Context, want int) {
	channel, err := await(ctx, &v.tasks, v.conn.Channel, v.conn.closeChannel)
	if err != nil {
		return
	}
	defer v.conn.closeChannel(channel)
	for {
		if n, err := v.count(ctx, channel); err != nil || n >= want || !sleep(ctx, time.Millisecond) {
			return
		}
	}
}
