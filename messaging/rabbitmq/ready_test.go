package rabbitmq_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// says waits until a problem mentions a text, and checks that it tells since when.
func (f *fixture) says(problem func() error, text string) {
	f.Helper()
	for {
		err := problem()
		if err != nil && strings.Contains(err.Error(), text) {
			s, ok := errors.AsType[interface {
				error
				Since() time.Time
			}](err)
			if !ok || s.Since().IsZero() || s.Since().After(time.Now()) {
				f.Errorf("%v does not tell since when", err)
			}
			return
		}
		if f.Ctx.Err() != nil {
			f.Fatalf("it says %v, want %q", err, text)
		}
		f.Pause()
	}
}

func (f *fixture) well(problem func() error) {
	f.Helper()
	for err := problem(); err != nil; err = problem() {
		if f.Ctx.Err() != nil {
			f.Fatal(err)
		}
		f.Pause()
	}
}

func TestConsumingNeedsTheRightToRead(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	b := rabbitmqtest.Open(t, f.User("reader", "^$", ".*", "^$"), rabbitmq.Options{})
	if err := b.Declare(f.Ctx, rabbitmqtest.Topology(), messaging.TopologyCheck); err != nil {
		f.Fatal(err)
	}
	if err := b.Consuming(); err != nil {
		f.Errorf("nobody consumes: %v", err)
	}
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) { _ = d.Settler.Ack() })
	f.says(b.Consuming, queue+" is not consumed: subscribe: Exception (403)")
	f.well(b.Ready) // it can publish
	f.Rights("reader", "^$", ".*", ".*")
	f.well(b.Consuming)
	stop()
}

func TestConsumingNeedsAChannel(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	b := rabbitmqtest.Open(t, f.URL+"?channel_max=2", rabbitmq.Options{})
	var stops []func()
	for range 4 {
		stops = append(stops, f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) { _ = d.Settler.Ack() }))
	}
	f.says(b.Consuming, "open a channel")
	for _, stop := range stops {
		stop()
	}
}

// The session that follows a refusal looks as good as any.
func TestReadyRemembersARefusal(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	b := rabbitmqtest.Open(t, f.User("writer", "^$", "^$", ".*"), rabbitmq.Options{})
	f.well(b.Ready)
	for range 3 {
		if err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, rabbitmqtest.Message("refused")); err == nil {
			f.Fatal("no error")
		}
		f.says(b.Ready, "ACCESS_REFUSED")
	}
	f.Rights("writer", "^$", ".*", ".*")
	f.Insist(b, "m")
	f.well(b.Ready)
	if err := b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), "Nobody", rabbitmqtest.Message("m")); !errors.Is(err, messaging.ErrUnroutable) {
		f.Fatal(err)
	}
	f.Insist(b, "another key says nothing about it")
	f.says(b.Ready, messaging.ErrUnroutable.Error())
}

// A broker that answers nothing is not known to be lost until its heartbeat is.
func TestReadyMissesConfirms(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	p := rabbitmqtest.NewProxy(t, f.URL)
	b := rabbitmqtest.Open(t, p.URL, rabbitmq.Options{Patience: 500 * time.Millisecond, Heartbeat: time.Minute})
	f.Publish(b, "before")
	f.well(b.Ready)
	p.Freeze()
	done := make(chan error, 1)
	go func() {
		done <- b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, rabbitmqtest.Message("waits"))
	}()
	f.says(b.Ready, "the broker confirms nothing: 1 publishes wait")
	p.Thaw()
	if err := rabbitmqtest.Receive(f.Fixture, done, "the confirm"); err != nil {
		f.Error(err)
	}
	f.well(b.Ready)
}

// Without traffic nothing else would tell that the right to publish is gone.
func TestReadyProbes(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	b := rabbitmqtest.Open(t, f.User("idle", "^$", "^$", ".*"), rabbitmq.Options{Probe: rabbitmqtest.Shop().Probe(messagingtest.Stock)})
	f.says(b.Ready, "ACCESS_REFUSED")
	f.Rights("idle", "^$", ".*", ".*")
	f.well(b.Ready)
}
