package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// To a quorum queue each unsettled basic.get is a consumer, and where a channel
// with many consumers dies, RabbitMQ before 4.1.1 does not keep the order of what
// they held when it starts again: then the removal of one message is the removal
// of another. So a look is a few consumers that hold many messages each. They are
// not cancelled: what a cancelled consumer holds is not given back when its node
// is lost. See docs/adr/0011.
const (
	mostConsumers = 32
	mostHeld      = math.MaxUint16 // by a consumer
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
	for _, d := range v.messages {
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
	}
	if v.others {
		return messaging.ErrHeld
	}
	return nil
}

// browsing is one Browse.
type browsing struct {
	*Broker
	conn      *connection
	channel   *amqp.Channel
	queue     string
	consumers int
	messages  []amqp.Delivery // the oldest first
	others    bool            // hold messages, too

	// asking is held during a request: the channel takes one at a time, and an
	// abandoned one may still be waiting for its answer.
	asking sync.Mutex
}

// take gets all messages that are in the queue now, and holds them, so that
// nothing comes up twice and no one else looks at them meanwhile.
func (v *browsing) take(ctx context.Context) error {
	q, err := v.look(ctx, v.channel)
	if err != nil {
		return err
	}
	if most := mostConsumers * mostHeld; q.Messages > most {
		return fmt.Errorf("it holds %d messages, and no more than %d can be looked at", q.Messages, most)
	}
	v.others = q.Consumers > 0
	for missing := q.Messages; missing > 0; missing = q.Messages - len(v.messages) {
		some := min(missing, mostHeld)
		got, err := v.consume(ctx, some)
		if err != nil {
			return err
		}
		if got < some {
			v.others = true
			return nil
		}
	}
	return nil
}

// consume takes so many messages, or fewer if others take some. What is parked
// once some of them are removed comes to us as well, is not looked at, and goes
// back in the end.
func (v *browsing) consume(ctx context.Context, most int) (got int, err error) {
	tag := fmt.Sprintf("%s-%02d", consumerTag, v.consumers) // their order is that of the messages
	v.consumers++
	deliveries, err := ask(ctx, v, func() (<-chan amqp.Delivery, error) {
		if err := v.channel.Qos(most, 0, false); err != nil {
			return nil, err
		}
		return v.channel.Consume(v.queue, tag, false, false, false, false, nil)
	})
	if err != nil {
		return 0, err
	}
	const (
		silence = 50 * time.Millisecond // after which the queue's leader is asked
		enough  = time.Second           // of silence, where it counts none
	)
	silent := time.NewTimer(silence)
	defer silent.Stop()
	var end, late <-chan time.Time
	for got < most {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return got, v.loss()
			}
			v.messages = append(v.messages, d)
			got++
			end = nil
		case <-silent.C:
			if q, err := v.look(ctx, v.channel); err != nil {
				return got, err
			} else if q.Messages == 0 && end == nil {
				// Others hold the rest, or it is on its way: the node beside us may
				// deliver later than the queue's leader counts.
				end = time.After(enough + time.Duration(most-got)*100*time.Microsecond)
				if late == nil {
					late = time.After(time.Minute) // what comes by then is parked meanwhile
				}
			}
		case <-end:
			return got, nil
		case <-late:
			return got, nil
		case <-ctx.Done():
			return got, ended(ctx)
		}
		silent.Reset(silence)
	}
	return got, nil
}

// loss is why the broker stopped delivering.
func (v *browsing) loss() error {
	if !v.channel.IsClosed() {
		return errCancelled
	}
	return errors.New("the channel was lost")
}

// ask makes a request on the channel of v.
func ask[T any](ctx context.Context, v *browsing, request func() (T, error)) (T, error) {
	return await(ctx, &v.tasks, func() (T, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		return request()
	}, func(T) {})
}

// look asks how many messages are ready, and how many consumers there are.
func (v *browsing) look(ctx context.Context, channel *amqp.Channel) (amqp.Queue, error) {
	q, err := ask(ctx, v, func() (amqp.Queue, error) {
		return channel.QueueDeclarePassive(v.queue, true, false, false, false, nil)
	})
	if refusal(err, amqp.NotFound) {
		err = fmt.Errorf("%w: %w", messaging.ErrNoQueue, err)
	}
	return q, err
}

// end gives back what was not removed: the queue does that, in order, when the
// channel is gone.
func (v *browsing) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second+time.Duration(len(v.messages))*20*time.Microsecond)
	defer cancel()
	q, err := v.look(ctx, v.channel)
	v.conn.bounded(func() {
		v.asking.Lock()
		defer v.asking.Unlock()
		_ = v.channel.Close() // an error means that it is gone already
	})
	if err == nil && v.consumers > 0 {
		v.awaitGone(ctx, q.Consumers-v.consumers)
	}
}

// awaitGone waits until no more than so many consumers are left, for who looks
// again at once: with a consumer the queue takes back what it held.
func (v *browsing) awaitGone(ctx context.Context, left int) {
	channel, err := await(ctx, &v.tasks, v.conn.Channel, v.conn.closeChannel)
	if err != nil {
		return
	}
	defer v.conn.closeChannel(channel)
	for {
		if q, err := v.look(ctx, channel); err != nil || q.Consumers <= left || !sleep(ctx, time.Millisecond) {
			return
		}
	}
}
