package rabbitmq_test

import (
	"context"
	"errors"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestRightsAreThoseOfTheRoutes(t *testing.T) {
	for name, s := range messagingtest.Systems() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			as := f.Define(s)
			// What is loaded is what the services would declare: RabbitMQ takes both.
			if err := rabbitmqtest.Open(t, f.URL, rabbitmq.Options{}).Declare(f.Ctx, s.Topology(), messaging.TopologyDeclare); err != nil {
				t.Error(err)
			}
			rabbitmqtest.ServicesMayDoNothingElse(t, s, as)
			rabbitmqtest.SecondKeysAreChecked(t, s, as)
			rabbitmqtest.ObserverMayOnlyLook(t, s, as)
			rabbitmqtest.ServicesMayDoTheirPart(f.Fixture, s, as)
		})
	}
}

// A message that the broker itself parks is not lost for want of anyone's rights.
func TestBrokerParksWithoutRights(t *testing.T) {
	f := newFixture(t)
	as := f.Define(rabbitmqtest.Shop())
	f.Publish(rabbitmqtest.Open(f.T, as(messagingtest.Orders), rabbitmq.Options{}), "parked")
	stock := rabbitmqtest.Dial(f.T, as(messagingtest.Stock))
	for range messaging.WorkDeliveryLimit + 1 {
		f.reject(stock)
	}
	b := rabbitmqtest.Open(f.T, f.URL, rabbitmq.Options{})
	for found := false; !found; {
		err := b.Browse(f.Ctx, messaging.DeadQueue(queue), func(_ context.Context, m messaging.Message) (bool, error) {
			found = found || m.ID == "parked"
			return false, nil
		})
		if err != nil && !errors.Is(err, messaging.ErrHeld) {
			f.Fatal(err)
		}
	}
}

// reject takes one message of the queue and gives it back as not wanted.
func (f *fixture) reject(conn *amqp.Connection) {
	f.Helper()
	channel, err := conn.Channel()
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = channel.Close() }()
	for f.Ctx.Err() == nil {
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
