package rabbitmq_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

func dial(t *testing.T, url string) *amqp.Connection {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// reject takes one message of the queue and gives it back as not wanted.
func (f *fixture) reject(conn *amqp.Connection) {
	f.Helper()
	channel, err := conn.Channel()
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = channel.Close() }()
	for f.ctx.Err() == nil {
		d, ok, err := channel.Get(queue, false)
		if err != nil {
			f.Fatal(err)
		}
		if ok {
			if err := d.Reject(true); err != nil {
				f.Fatal(err)
			}
			return
		}
	}
	f.Fatal("no message to reject")
}

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
	return attempt{fmt.Sprintf("publish to %q with key %q, CC %v", exchange, key, more), func(ch *amqp.Channel) error {
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
	return attempt{"read " + queue, func(ch *amqp.Channel) error {
		_, _, err := ch.Get(queue, false)
		return err
	}}
}

func binding(queue string) attempt {
	return attempt{"bind " + queue, func(ch *amqp.Channel) error {
		return ch.QueueBind(queue, "#", messagingtest.Shop().EventsExchange(), false, nil)
	}}
}

// escapes are the ways by which a service could leave its part in the saga.
func escapes(user string) []attempt {
	var list []attempt
	mine := func(queue string) bool { return strings.HasPrefix(queue, user+".") }
	for _, queue := range messagingtest.Shop().WorkQueues() {
		list = append(list, reading(messaging.DeadQueue(queue)), publishing("", queue),
			publishing(messagingtest.Shop().RedeliverExchange(), messaging.RedriveKey(queue)))
		if mine(queue) {
			continue
		}
		list = append(list, reading(queue),
			publishing(messagingtest.Shop().DeadExchange(), queue),
			publishing(messagingtest.Shop().RetryExchange(), "1000ms."+queue),
			publishing(messagingtest.Shop().RedeliverExchange(), "1000ms."+queue),
			attempt{"purge " + queue, func(ch *amqp.Channel) error {
				_, err := ch.QueuePurge(queue, false)
				return err
			}})
	}
	for _, queue := range messagingtest.Shop().WorkQueues() {
		list = append(list, attempt{"delete " + queue, func(ch *amqp.Channel) error {
			_, err := ch.QueueDelete(queue, false, false, false)
			return err
		}}, attempt{"unbind " + queue, func(ch *amqp.Channel) error {
			_, event, _ := strings.Cut(queue, ".")
			return ch.QueueUnbind(queue, event, messagingtest.Shop().EventsExchange(), nil)
		}}, binding(queue), binding(messaging.DeadQueue(queue)))
	}
	for _, exchange := range topology().Exchanges {
		list = append(list, attempt{"delete " + exchange, func(ch *amqp.Channel) error {
			return ch.ExchangeDelete(exchange, false, false)
		}})
	}
	return append(list,
		attempt{"declare a queue", func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare(user+".mine", true, false, false, false, nil)
			return err
		}},
		// Its dead-letter exchange would take any key.
		attempt{"declare a queue that the broker names", func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare("", false, true, true, false, amqp.Table{"x-dead-letter-exchange": messagingtest.Shop().EventsExchange()})
			return err
		}},
		attempt{"declare an exchange", func(ch *amqp.Channel) error {
			return ch.ExchangeDeclare(user+".mine", "fanout", true, false, false, false, nil)
		}},
		attempt{"bind an exchange", func(ch *amqp.Channel) error {
			return ch.ExchangeBind(messagingtest.Shop().RetryExchange(), "#", messagingtest.Shop().EventsExchange(), false, nil)
		}})
}

// others are the events that a service does not publish.
func others(user string) []string {
	mine := map[string]string{
		messagingtest.Orders: "OrderPlaced", messagingtest.Stock: "ItemReserved ItemRefused ItemReturned",
		messagingtest.Billing: "PaymentTaken PaymentRefused",
	}
	var events []string
	for _, queue := range messagingtest.Shop().WorkQueues() {
		if _, event, _ := strings.Cut(queue, "."); !strings.Contains(mine[user], event) {
			events = append(events, event)
		}
	}
	return events
}

// target is the broker to attack: the one that BOXOFFICE_TEST_BROKER names as
// amqp://HOST:PORT/, with the passwords of its users as `boxoffice definitions`
// takes them, or else one of our own.
func target(t *testing.T) (url string, password func(user string) string) {
	t.Helper()
	if url := os.Getenv("BOXOFFICE_TEST_BROKER"); url != "" {
		return url, func(user string) string {
			return cmp.Or(os.Getenv(strings.ToUpper(user)+"_BROKER_PASSWORD"), user+"-lab")
		}
	}
	return defined(t).url, func(user string) string { return passwords()[user] }
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

func TestServicesMayDoNothingElse(t *testing.T) {
	url, password := target(t)
	for _, user := range []string{messagingtest.Orders, messagingtest.Stock, messagingtest.Billing} {
		conn := dial(t, as(t, url, user, password(user)))
		list := escapes(user)
		for _, event := range others(user) {
			list = append(list, publishing(messagingtest.Shop().EventsExchange(), event))
		}
		for _, a := range list {
			refused(t, conn, user, a)
		}
		t.Logf("%s was refused %d attempts", user, len(list))
	}
}

// A second key in a header is a key all the same; RabbitMQ before 4.0 did not look.
func TestSecondKeysAreChecked(t *testing.T) {
	url, password := target(t)
	conn := dial(t, as(t, url, messagingtest.Orders, password(messagingtest.Orders)))
	if v, _ := conn.Properties["version"].(string); strings.HasPrefix(v, "3.") {
		t.Logf("RabbitMQ %s does not check them", v)
		return
	}
	refused(t, conn, messagingtest.Orders, publishing(messagingtest.Shop().EventsExchange(), "OrderPlaced", "PaymentTaken"))
	refused(t, conn, messagingtest.Orders, publishing(messagingtest.Shop().RetryExchange(), "1000ms.orders.ItemRefused", "1000ms.billing.ItemReserved"))
}

// The observer may look at every event, and change nothing.
func TestObserverMayOnlyLook(t *testing.T) {
	url, password := target(t)
	conn := dial(t, as(t, url, rabbitmq.Observer, password(rabbitmq.Observer)))
	for _, a := range escapes(rabbitmq.Observer) {
		if a.what == "declare a queue that the broker names" {
			a.what += ", and dead-letters" // else it may
		}
		refused(t, conn, rabbitmq.Observer, a)
	}
	for _, event := range others(rabbitmq.Observer) {
		refused(t, conn, rabbitmq.Observer, publishing(messagingtest.Shop().EventsExchange(), event))
	}
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, err := channel.QueueDeclare("", false, true, true, false, nil)
	if err == nil {
		err = channel.QueueBind(q.Name, "#", messagingtest.Shop().EventsExchange(), false, nil)
	}
	if err == nil {
		_, err = channel.Consume(q.Name, "", true, true, false, false, nil)
	}
	if err != nil {
		t.Error(err)
	}
}
