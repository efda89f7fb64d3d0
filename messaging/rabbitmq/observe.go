package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

const defaultBuffer = 256

// Observe implements [messaging.Broker]. Its queue is the connection's own and
// ends with it; the user needs the right to configure amq.gen-.* and to read
// the exchange, no more.
func (b *Broker) Observe(ctx context.Context, o messaging.Observation) error {
	if o.Exchange == "" {
		return messaging.ErrNoExchange
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	v := &observer{Broker: b, o: o, buffer: make(chan *amqp.Delivery, cmp.Or(max(o.Buffer, 0), defaultBuffer))}
	fed := make(chan struct{})
	b.tasks.Go(func() {
		defer close(fed)
		v.feed(ctx)
	})
	for ctx.Err() == nil {
		select {
		case d := <-v.buffer:
			o.See(d.RoutingKey, received(d))
		case <-ctx.Done():
		}
	}
	<-fed
	return nil
}

// observer is one Observe.
type observer struct {
	*Broker
	o      messaging.Observation
	buffer chan *amqp.Delivery

	failing streak.Streak
}

// observation is one channel of an observer.
type observation struct {
	conn       *connection
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
}

func (v *observer) feed(ctx context.Context) {
	for retry := v.newBackoff(); ; {
		err := v.session(ctx, func() {
			retry.Reset()
			if r, ended := v.failing.Worked(); ended {
				v.log.InfoContext(ctx, "observing again", "tries", r.Tries, "after", r.Lasted())
			}
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errNoConnection) { // the link says that
			retry.Reset()
			continue
		}
		if r, say := v.failing.Failed(err); say {
			v.log.WarnContext(ctx, "observing is interrupted", "error", err, "tries", r.Tries, "lasts", r.Lasted())
		}
		sleep(ctx, retry.NextBackOff())
	}
}

// session subscribes and fills the buffer until ctx ends or the channel does.
func (v *observer) session(ctx context.Context, subscribed func()) error {
	conn, err := v.consuming.up(ctx)
	if err != nil {
		return err
	}
	if err := v.topology.ensure(ctx, &v.tasks, conn); err != nil {
		return conn.blame(err)
	}
	s, err := await(ctx, &v.tasks, func() (observation, error) {
		return v.subscribe(conn)
	}, func(s observation) { conn.closeChannel(s.channel) })
	if err != nil {
		return conn.blame(err)
	}
	defer conn.closeChannel(s.channel)
	subscribed()
	if v.o.Ready != nil {
		v.o.Ready()
	}
	for {
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return conn.blame(errCancelled)
			}
			v.put(&d)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (v *observer) subscribe(conn *connection) (observation, error) {
	channel, err := conn.Channel()
	if err != nil {
		return observation{}, fmt.Errorf("open a channel: %w", err)
	}
	s := observation{conn: conn, channel: channel}
	queue, err := channel.QueueDeclare("", false, true, true, false, amqp.Table{
		amqp.QueueTypeArg:     amqp.QueueTypeClassic, // whatever the virtual host's default is
		amqp.QueueTTLArg:      int64(60_000),         // if it is declared, but never consumed
		amqp.QueueMaxLenArg:   int64(cap(v.buffer)),
		amqp.QueueOverflowArg: amqp.QueueOverflowDropHead,
	})
	for _, key := range v.o.Keys {
		if err == nil {
			err = channel.QueueBind(queue.Name, key, v.o.Exchange, false, nil)
		}
	}
	if err == nil {
		s.deliveries, err = channel.Consume(queue.Name, consumerTag, true, true, false, false, nil)
	}
	if err != nil {
		if refusal(err, amqp.NotFound) {
			conn.incomplete.Store(true)
		}
		conn.closeChannel(channel)
		return observation{}, fmt.Errorf("observe: %w", err)
	}
	return s, nil
}

// put never waits: the client's own buffer behind it has no bound.
func (v *observer) put(d *amqp.Delivery) {
	for {
		select {
		case v.buffer <- d:
			return
		default:
		}
		select {
		case <-v.buffer: // the oldest
		default:
		}
	}
}
