package rabbitmqtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// attempt is something that a user tries on a channel of its own.
type attempt struct {
	what string
	try  func(*amqp.Channel) error
}

// publishing is an attempt to publish, which the broker refuses by closing the channel.
func publishing(exchange, key string, more ...string) attempt {
	headers := amqp.Table{}
	for _, cc := range more {
		headers["CC"] = []any{cc}
	}
	return attempt{what: fmt.Sprintf("publish to %q with key %q, CC %v", exchange, key, more), try: func(ch *amqp.Channel) error {
		closed := ch.NotifyClose(make(chan *amqp.Error, 1))
		if err := ch.Confirm(false); err != nil {
			return err
		}
		confirms := ch.NotifyPublish(make(chan amqp.Confirmation, 1))
		if err := ch.Publish(exchange, key, false, false, amqp.Publishing{Headers: headers, Body: []byte("forged")}); err != nil {
			return err
		}
		if c, ok := <-confirms; ok && c.Ack {
			return nil
		}
		return <-closed
	}}
}

func reading(queue string) attempt {
	return attempt{what: "read " + queue, try: func(ch *amqp.Channel) error {
		_, _, err := ch.Get(queue, false)
		return err
	}}
}

func binding(s messaging.System, queue string) attempt {
	return attempt{what: "bind " + queue, try: func(ch *amqp.Channel) error {
		return ch.QueueBind(queue, "#", s.EventsExchange(), false, nil)
	}}
}

// escapes are the ways by which a user could leave the part of a service in the
// saga; that of no service is to do nothing.
func escapes(s messaging.System, part messaging.Service) []attempt {
	var list []attempt
	mine := func(queue string) bool {
		return slices.ContainsFunc(part.Consumes, func(event string) bool { return s.Queue(part.Name, event) == queue })
	}
	for _, event := range s.Events() {
		if !slices.Contains(part.Publishes, event) {
			list = append(list, publishing(s.EventsExchange(), event))
		}
	}
	for _, queue := range s.WorkQueues() {
		list = append(list, reading(messaging.DeadQueue(queue)), publishing("", queue),
			publishing(s.RedeliverExchange(), messaging.RedriveKey(queue)))
		if mine(queue) {
			continue
		}
		list = append(list, reading(queue),
			publishing(s.DeadExchange(), queue),
			publishing(s.RetryExchange(), messaging.RetryKey(time.Second, queue)),
			publishing(s.RedeliverExchange(), messaging.RetryKey(time.Second, queue)),
			attempt{what: "purge " + queue, try: func(ch *amqp.Channel) error {
				_, err := ch.QueuePurge(queue, false)
				return err
			}})
	}
	for _, b := range s.Topology().Bindings {
		list = append(list, attempt{what: "unbind " + b.Queue + " from " + b.Exchange, try: func(ch *amqp.Channel) error {
			return ch.QueueUnbind(b.Queue, b.Key, b.Exchange, nil)
		}})
	}
	for _, queue := range s.WorkQueues() {
		list = append(list, attempt{what: "delete " + queue, try: func(ch *amqp.Channel) error {
			_, err := ch.QueueDelete(queue, false, false, false)
			return err
		}}, binding(s, queue), binding(s, messaging.DeadQueue(queue)))
	}
	for _, exchange := range s.Topology().Exchanges {
		list = append(list, attempt{what: "delete " + exchange, try: func(ch *amqp.Channel) error {
			return ch.ExchangeDelete(exchange, false, false)
		}})
	}
	return append(list,
		attempt{what: "declare a queue", try: func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare(s.Prefix+".mine", true, false, false, false, nil)
			return err
		}},
		// Its dead-letter exchange would take any key.
		attempt{what: "declare a queue that the broker names", try: func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare("", false, true, true, false, amqp.Table{"x-dead-letter-exchange": s.EventsExchange()})
			return err
		}},
		attempt{what: "declare an exchange", try: func(ch *amqp.Channel) error {
			return ch.ExchangeDeclare(s.Prefix+".mine", "fanout", true, false, false, false, nil)
		}},
		attempt{what: "bind an exchange", try: func(ch *amqp.Channel) error {
			return ch.ExchangeBind(s.RetryExchange(), "#", s.EventsExchange(), false, nil)
		}})
}

// refused tries it on a channel of its own, and fails unless the broker says no.
func refused(t *testing.T, conn *amqp.Connection, user string, a attempt) {
	t.Helper()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channel.Close() }()
	err = a.try(channel)
	if e, ok := errors.AsType[*amqp.Error](err); !ok || e.Code != amqp.AccessRefused {
		t.Errorf("%s may %s: %v", user, a.what, err)
	}
}
