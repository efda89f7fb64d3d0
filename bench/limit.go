package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const nameLimit = "limit: 3 raw hops"

// limitQueues are the stations of a raw saga; a message's key is the queue's name.
var limitQueues = [...]string{"hop.1", "hop.2", "hop.3"} //nolint:gochecknoglobals // an array is no constant

const (
	limitExchange = "hops"
	// limitBody is as long as the events of a booking.
	limitBody = `{"bookingId":"01936d5e-7a3c-7c1e-9f0a-3b1d2c4e5f60","seat":4711,"customer":"customer","amount":450}`
)

// limit measures raw hops.
func (b *bench) limit(ctx context.Context, inFlight int) error {
	url, err := b.vhost(ctx)
	if err != nil {
		return err
	}
	h, err := openHops(ctx, url, inFlight)
	if err != nil {
		return err
	}
	defer h.close()
	return b.measure(ctx, nameLimit, inFlight, h.roundTrip)
}

// hops moves messages through the queues as the services do (the next
// message is confirmed before the last is acknowledged, many at a time), with
// nothing of theirs around it.
type hops struct {
	connections []*amqp.Connection
	publish     [len(limitQueues)]*amqp.Channel // to each queue
	arrived     []chan error                    // one for each client
	failed      chan struct{}                   // closed after failure is set
	fail        func(error)
	failure     error
	consuming   sync.WaitGroup
}

// openHops connects each station as each service does: with one connection
// to publish and another to consume.
func openHops(ctx context.Context, url string, clients int) (h *hops, err error) {
	h = &hops{arrived: make([]chan error, clients), failed: make(chan struct{})}
	var once sync.Once
	h.fail = func(err error) {
		once.Do(func() {
			h.failure = err
			close(h.failed)
		})
	}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	for i := range h.arrived {
		h.arrived[i] = make(chan error, 1)
	}
	for i, queue := range limitQueues {
		if h.publish[i], err = h.open(url); err != nil {
			return h, err
		}
		if err = h.declare(h.publish[i], queue); err != nil {
			return h, fmt.Errorf("declare %s: %w", queue, err)
		}
	}
	for i, queue := range limitQueues {
		channel, err := h.open(url)
		if err != nil {
			return h, err
		}
		if err := h.consume(ctx, channel, queue, i+1, clients); err != nil {
			return h, fmt.Errorf("consume %s: %w", queue, err)
		}
	}
	return h, nil
}

func (h *hops) open(url string) (*amqp.Channel, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	h.connections = append(h.connections, conn)
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	return channel, nil
}

// declare makes a queue of the kind that events go through, and a channel
// that publishes as they are published.
func (h *hops) declare(channel *amqp.Channel, queue string) error {
	_, err := channel.QueueDeclare(queue, true, false, false, false, amqp.Table{
		amqp.QueueTypeArg:           amqp.QueueTypeQuorum,
		amqp.QueueOverflowArg:       amqp.QueueOverflowRejectPublish,
		"x-delivery-limit":          20,
		"x-dead-letter-exchange":    limitExchange,
		"x-dead-letter-routing-key": queue + ".dead",
		"x-dead-letter-strategy":    "at-least-once",
	})
	if err == nil {
		err = channel.ExchangeDeclare(limitExchange, amqp.ExchangeTopic, true, false, false, false, nil)
	}
	if err == nil {
		err = channel.QueueBind(queue, queue, limitExchange, false, nil)
	}
	if err != nil {
		return err
	}
	returns := channel.NotifyReturn(make(chan amqp.Return, 1))
	h.consuming.Go(func() {
		for r := range returns {
			h.fail(errors.New("a message was returned: " + r.ReplyText))
		}
	})
	return channel.Confirm(false)
}

// consume sends what arrives on to the next station, or home from the last.
func (h *hops) consume(ctx context.Context, channel *amqp.Channel, queue string, next, prefetch int) error {
	if err := channel.Qos(prefetch, 0, false); err != nil {
		return err
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	h.consuming.Go(func() {
		var running sync.WaitGroup
		defer running.Wait()
		for d := range deliveries {
			running.Go(func() {
				if err := h.handle(ctx, &d, next); err != nil {
					h.fail(err)
				}
			})
		}
	})
	return nil
}

func (h *hops) handle(ctx context.Context, d *amqp.Delivery, next int) error {
	if next < len(h.publish) {
		if err := h.send(ctx, next, d.MessageId); err != nil {
			return err
		}
		return d.Ack(false)
	}
	client, err := strconv.Atoi(d.MessageId)
	if err == nil {
		err = d.Ack(false)
	}
	if err != nil {
		return err
	}
	h.arrived[client] <- nil // has room: a client has one message under way
	return nil
}

// send publishes to a station and waits for the confirm.
func (h *hops) send(ctx context.Context, station int, id string) error {
	confirm, err := h.publish[station].PublishWithDeferredConfirm(limitExchange, limitQueues[station], true, false, amqp.Publishing{
		MessageId: id, ContentType: "application/json", DeliveryMode: amqp.Persistent, Timestamp: time.Now(), Body: []byte(limitBody),
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	select {
	case <-confirm.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-h.failed:
		return h.failure
	}
	if !confirm.Acked() {
		return errors.New("a message was not confirmed")
	}
	return nil
}

// roundTrip sends one message through all stations.
func (h *hops) roundTrip(ctx context.Context, client int) error {
	if err := h.send(ctx, 0, strconv.Itoa(client)); err != nil {
		return err
	}
	select {
	case err := <-h.arrived[client]:
		return err
	case <-h.failed:
		return h.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends the connections, and with them what runs on them.
func (h *hops) close() {
	h.fail(errors.New("the measurement is over"))
	for _, c := range h.connections {
		_ = c.CloseDeadline(time.Now().Add(10 * time.Second)) // what was measured is measured
	}
	h.consuming.Wait()
}
