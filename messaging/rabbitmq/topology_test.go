package rabbitmq_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestRefusedTopologyShowsInReady(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Channel().QueueDeclare(queue, true, false, false, false, amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, amqp.QueueMaxLenArg: 5,
	}); err != nil {
		f.Fatal(err)
	}
	b := rabbitmqtest.Open(t, f.URL, rabbitmq.Options{})
	err := b.Declare(f.Ctx, rabbitmqtest.Topology(), messaging.TopologyDeclare)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), `queue "`+queue+`"`) || !strings.Contains(err.Error(), "PRECONDITION_FAILED") {
		f.Errorf("declare: %v", err)
	}
	if err := f.Until(b, false); !errors.Is(err, messaging.ErrTopology) {
		f.Errorf("Ready says %v", err)
	}
	if _, err := f.Channel().QueueDelete(queue, false, false, false); err != nil {
		f.Fatal(err)
	}
	if err := b.Declare(f.Ctx, rabbitmqtest.Topology(), messaging.TopologyDeclare); err != nil {
		f.Errorf("declare once the queue is gone: %v", err)
	}
	_ = f.Until(b, true)
}

func TestCheckNeedsNoRights(t *testing.T) {
	f := newFixture(t)
	b := rabbitmqtest.Open(t, f.User("checker", "^$", ".*", ".*"), rabbitmq.Options{})
	exchange := messaging.Topology{Exchanges: rabbitmqtest.Topology().Exchanges[:1]}
	if err := b.Declare(f.Ctx, exchange, messaging.TopologyCheck); !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "NOT_FOUND") {
		f.Errorf("check of an empty broker: %v", err)
	}
	f.Declared(rabbitmq.Options{})
	if err := b.Declare(f.Ctx, exchange, messaging.TopologyDeclare); !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "ACCESS_REFUSED") {
		f.Errorf("declare without the right: %v", err)
	}
	if err := b.Declare(f.Ctx, rabbitmqtest.Topology(), messaging.TopologyCheck); err != nil {
		f.Errorf("check: %v", err)
	}
	f.Publish(b, "m")
	_ = f.Until(b, true)
}

// A user that the broker tells nothing has checked nothing; RabbitMQ before
// 4.2.6 tells everyone.
func TestCheckOfWhatCannotBeSeen(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	for _, test := range []struct {
		name, read string
		sees       bool
	}{{"blind", "^$", false}, {"sighted", "^" + queue + "$", true}} {
		url := f.User(test.name, "^$", "^$", test.read)
		b := rabbitmqtest.Open(t, url, rabbitmq.Options{})
		err := b.Declare(f.Ctx, rabbitmqtest.Topology(), messaging.TopologyCheck)
		if v, _ := rabbitmqtest.Dial(t, url).Properties["version"].(string); strings.HasPrefix(v, "3.") || strings.HasPrefix(v, "4.0") {
			test.sees = true
		}
		refused := errors.Is(err, messaging.ErrTopology) && strings.Contains(err.Error(), "ACCESS_REFUSED")
		if test.sees && err != nil || !test.sees && !refused {
			f.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestObserverNeedsFewRights(t *testing.T) {
	f := newFixture(t)
	publisher := f.Declared(rabbitmq.Options{})
	b := rabbitmqtest.Open(t, f.User("observer", `^amq\.gen-.*$`, `^amq\.gen-.*$`, `^(amq\.gen-.*|shop\.events)$`), rabbitmq.Options{})
	ready, saw := make(chan struct{}, 10), make(chan string, 10)
	ctx, cancel := context.WithCancel(f.Ctx)
	done := make(chan error, 1)
	go func() {
		done <- b.Observe(ctx, messaging.Observation{
			Exchange: messagingtest.Shop().EventsExchange(), Keys: []string{"Nothing*", "*"}, Ready: func() { ready <- struct{}{} },
			See: func(k string, m messaging.Message) { saw <- k + " " + m.ID },
		})
	}()
	receive(f, ready, "the observer to subscribe")
	f.Publish(publisher, "m")
	if got := receive(f, saw, "an event"); got != key+" m" {
		f.Errorf("saw %q", got)
	}
	cancel()
	if err := receive(f, done, "Observe to return"); err != nil {
		f.Error(err)
	}
}

// The topology is declared again on a later connection, whatever became of it.
func TestTopologyComesBackWithTheConnection(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	channel := f.Channel()
	names := rabbitmqtest.Topology().Queues
	for _, q := range names {
		if _, err := channel.QueueDelete(q.Name, false, false, false); err != nil {
			f.Fatal(err)
		}
	}
	f.Proxy.Cut()
	f.Insist(b, "m")
	channel = f.Channel()
	missing := slices.DeleteFunc(names, func(q messaging.Queue) bool {
		_, err := channel.QueueDeclarePassive(q.Name, true, false, false, false, nil)
		return err == nil
	})
	if len(missing) > 0 {
		f.Errorf("%v did not come back", missing)
	}
}
