package rabbitmqtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
)

// The checks below are of a broker that has loaded a system's definitions. It is
// reached as one of their users by the URL that as returns: see [Fixture.Define].

// Dial connects, until the test ends.
func Dial(t *testing.T, url string) *amqp.Connection {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ServicesMayDoNothingElse checks that no service has a right that its routes do
// not need.
func ServicesMayDoNothingElse(t *testing.T, s messaging.System, as func(user string) string) {
	t.Helper()
	for _, v := range s.Services {
		user := rabbitmq.UserOf(s, v.Name)
		conn := Dial(t, as(user))
		list := escapes(s, v)
		for _, a := range list {
			refused(t, conn, user, a)
		}
		t.Logf("%s was refused %d attempts", user, len(list))
	}
}

// SecondKeysAreChecked checks that a second key in a header is a key all the
// same; RabbitMQ before 4.0 did not look.
func SecondKeysAreChecked(t *testing.T, s messaging.System, as func(user string) string) {
	t.Helper()
	for _, v := range s.Services {
		if len(v.Publishes) == 0 {
			continue
		}
		user := rabbitmq.UserOf(s, v.Name)
		conn := Dial(t, as(user))
		if version, _ := conn.Properties["version"].(string); strings.HasPrefix(version, "3.") {
			t.Logf("RabbitMQ %s does not check them", version)
			return
		}
		for _, event := range s.Events() {
			if !slices.Contains(v.Publishes, event) {
				refused(t, conn, user, publishing(s.EventsExchange(), v.Publishes[0], event))
			}
		}
	}
}

// ObserverMayOnlyLook checks that the observer may look at every event, and
// change nothing.
func ObserverMayOnlyLook(t *testing.T, s messaging.System, as func(user string) string) {
	t.Helper()
	conn := Dial(t, as(rabbitmq.Observer))
	for _, a := range escapes(s, messaging.Service{}) {
		refused(t, conn, rabbitmq.Observer, a)
	}
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, err := channel.QueueDeclare("", false, true, true, false, nil)
	if err == nil {
		err = channel.QueueBind(q.Name, "#", s.EventsExchange(), false, nil)
	}
	if err == nil {
		_, err = channel.Consume(q.Name, "", true, true, false, false, nil)
	}
	if err != nil {
		t.Error(err)
	}
}

// ServicesMayDoTheirPart checks that each service has the rights that its routes
// need, and that the definitions spare it from declaring. The system must have a
// retry delay; what is published is left in the queues.
func ServicesMayDoTheirPart(f *Fixture, s messaging.System, as func(user string) string) {
	f.Helper()
	for _, v := range s.Services {
		b := Open(f.T, as(rabbitmq.UserOf(s, v.Name)), rabbitmq.Options{})
		if err := b.Declare(f.Ctx, s.Topology(), messaging.TopologyCheck); err != nil {
			f.Errorf("%s: check the topology: %v", v.Name, err)
		}
		send := func(exchange, key string) error { return b.Publish(f.Ctx, exchange, key, Message(v.Name)) }
		for _, e := range v.Publishes {
			if err := send(s.EventsExchange(), e); err != nil && !errors.Is(err, messaging.ErrUnroutable) {
				f.Errorf("%s: %v", v.Name, err)
			}
		}
		for _, e := range v.Consumes {
			queue := s.Queue(v.Name, e)
			if err := errors.Join(send(s.RetryExchange(), messaging.RetryKey(s.RetryDelays[0], queue)), send(s.DeadExchange(), queue)); err != nil {
				f.Errorf("%s: %v", v.Name, err)
			}
		}
	}
	for _, v := range s.Services {
		b := Open(f.T, as(rabbitmq.UserOf(s, v.Name)), rabbitmq.Options{})
		for _, e := range v.Consumes {
			f.takeOne(b, s.Queue(v.Name, e))
		}
	}
}
