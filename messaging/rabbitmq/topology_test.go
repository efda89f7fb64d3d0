package rabbitmq_test

import (
	"context"
	"errors"
	neturl "net/url"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

func TestRefusedTopologyShowsInReady(t *testing.T) {
	f := newFixture(t)
	if _, err := f.channel().QueueDeclare(queue, true, false, false, false, amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, amqp.QueueMaxLenArg: 5,
	}); err != nil {
		f.Fatal(err)
	}
	b := open(t, f.url, rabbitmq.Options{})
	err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare)
	if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), `queue "`+queue+`"`) || !strings.Contains(err.Error(), "PRECONDITION_FAILED") {
		f.Errorf("declare: %v", err)
	}
	if err := f.until(b, false); !errors.Is(err, messaging.ErrTopology) {
		f.Errorf("Ready says %v", err)
	}
	if _, err := f.channel().QueueDelete(queue, false, false, false); err != nil {
		f.Fatal(err)
	}
	if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
		f.Errorf("declare once the queue is gone: %v", err)
	}
	_ = f.until(b, true)
}

// user makes a user with these rights and returns the URL to connect as them.
func (f *fixture) user(name, configure, write, read string) string {
	f.Helper()
	name += "-" + f.vhost // users are the whole server's
	f.server.Ctl(f.T, "add_user", name, "secret")
	f.server.Ctl(f.T, "set_permissions", "--vhost", f.vhost, name, configure, write, read)
	u, err := neturl.Parse(f.url)
	if err != nil {
		f.Fatal(err)
	}
	u.User = neturl.UserPassword(name, "secret")
	return u.String()
}

func TestCheckNeedsNoRights(t *testing.T) {
	f := newFixture(t)
	b := open(t, f.user("checker", "^$", ".*", ".*"), rabbitmq.Options{})
	exchange := messaging.Topology{Exchanges: topology().Exchanges[:1]}
	if err := b.Declare(f.ctx, exchange, messaging.TopologyCheck); !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "NOT_FOUND") {
		f.Errorf("check of an empty broker: %v", err)
	}
	f.declared(rabbitmq.Options{})
	if err := b.Declare(f.ctx, exchange, messaging.TopologyDeclare); !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), "ACCESS_REFUSED") {
		f.Errorf("declare without the right: %v", err)
	}
	if err := b.Declare(f.ctx, topology(), messaging.TopologyCheck); err != nil {
		f.Errorf("check: %v", err)
	}
	f.publish(b, "m")
	_ = f.until(b, true)
}

// A user that the broker tells nothing has checked nothing; RabbitMQ before
// 4.2.6 tells everyone.
func TestCheckOfWhatCannotBeSeen(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	for _, test := range []struct {
		name, read string
		sees       bool
	}{{"blind", "^$", false}, {"sighted", "^" + queue + "$", true}} {
		url := f.user(test.name, "^$", "^$", test.read)
		b := open(t, url, rabbitmq.Options{})
		err := b.Declare(f.ctx, topology(), messaging.TopologyCheck)
		if v, _ := dial(t, url).Properties["version"].(string); strings.HasPrefix(v, "3.") || strings.HasPrefix(v, "4.0") {
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
	publisher := f.declared(rabbitmq.Options{})
	b := open(t, f.user("observer", `^amq\.gen-.*$`, `^amq\.gen-.*$`, `^(amq\.gen-.*|shop\.events)$`), rabbitmq.Options{})
	ready, saw := make(chan struct{}, 10), make(chan string, 10)
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	go func() {
		done <- b.Observe(ctx, messaging.Observation{
			Exchange: messagingtest.Shop().EventsExchange(), Keys: []string{"Booking*", "*"}, Ready: func() { ready <- struct{}{} },
			See: func(k string, m messaging.Message) { saw <- k + " " + m.ID },
		})
	}()
	receive(f, ready, "the observer to subscribe")
	f.publish(publisher, "m")
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
	b := f.declared(rabbitmq.Options{})
	channel := f.channel()
	names := topology().Queues
	for _, q := range names {
		if _, err := channel.QueueDelete(q.Name, false, false, false); err != nil {
			f.Fatal(err)
		}
	}
	f.dropConnections()
	f.insist(b, "m")
	channel = f.channel()
	missing := slices.DeleteFunc(names, func(q messaging.Queue) bool {
		_, err := channel.QueueDeclarePassive(q.Name, true, false, false, false, nil)
		return err == nil
	})
	if len(missing) > 0 {
		f.Errorf("%v did not come back", missing)
	}
}
