package rabbitmq_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
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
		if f.ctx.Err() != nil {
			f.Fatalf("it says %v, want %q", err, text)
		}
		f.pause()
	}
}

func (f *fixture) well(problem func() error) {
	f.Helper()
	for err := problem(); err != nil; err = problem() {
		if f.ctx.Err() != nil {
			f.Fatal(err)
		}
		f.pause()
	}
}

// rights changes those of a user of [fixture.user].
func (f *fixture) rights(name, write, read string) {
	f.Helper()
	f.server.Ctl(f.T, "set_permissions", "-p", f.vhost, name+"-"+f.vhost, "^$", write, read)
}

func TestConsumingNeedsTheRightToRead(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	b := open(t, f.user("reader", "^$", ".*", "^$"), rabbitmq.Options{})
	if err := b.Declare(f.ctx, topology(), messaging.TopologyCheck); err != nil {
		f.Fatal(err)
	}
	if err := b.Consuming(); err != nil {
		f.Errorf("nobody consumes: %v", err)
	}
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) { _ = d.Settler.Ack() })
	f.says(b.Consuming, queue+" is not consumed: subscribe: Exception (403)")
	f.well(b.Ready) // it can publish
	f.rights("reader", ".*", ".*")
	f.well(b.Consuming)
	stop()
}

func TestConsumingNeedsAChannel(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	b := open(t, f.url+"?channel_max=2", rabbitmq.Options{})
	var stops []func()
	for range 4 {
		stops = append(stops, f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) { _ = d.Settler.Ack() }))
	}
	f.says(b.Consuming, "open a channel")
	for _, stop := range stops {
		stop()
	}
}

// The session that follows a refusal looks as good as any.
func TestReadyRemembersARefusal(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	b := open(t, f.user("writer", "^$", "^$", ".*"), rabbitmq.Options{})
	f.well(b.Ready)
	for range 3 {
		if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message("refused")); err == nil {
			f.Fatal("no error")
		}
		f.says(b.Ready, "ACCESS_REFUSED")
	}
	f.rights("writer", ".*", ".*")
	f.insist(b, "m")
	f.well(b.Ready)
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), "Nobody", message("m")); !errors.Is(err, messaging.ErrUnroutable) {
		f.Fatal(err)
	}
	f.insist(b, "another key says nothing about it")
	f.says(b.Ready, messaging.ErrUnroutable.Error())
}

// Without traffic nothing else would tell that the right to publish is gone.
func TestReadyProbes(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	b := open(t, f.user("idle", "^$", "^$", ".*"), rabbitmq.Options{Probe: shop().Probe(messagingtest.Stock)})
	f.says(b.Ready, "ACCESS_REFUSED")
	f.rights("idle", ".*", ".*")
	f.well(b.Ready)
}

// Nobody publishes while the broker has an alarm, and somebody asks again and
// again: the answer is no until the alarm ends, and the connection that is to
// publish is left alone.
func TestReadyIsSteadyUnderAnAlarm(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	var log buffer
	b := open(t, f.url, rabbitmq.Options{Probe: shop().Probe(messagingtest.Stock), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	f.well(b.Ready)
	end := f.alarm()
	defer end()
	f.says(b.Ready, "blocks publishing")
	ask := time.NewTicker(100 * time.Millisecond)
	defer ask.Stop()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); <-ask.C { // longer than a probe and a pause
		if err := b.Ready(); err == nil {
			t.Fatal("ready for a moment, though the alarm lasts")
		}
	}
	end()
	f.well(b.Ready)
	if text := log.String(); strings.Contains(text, "no connection to the broker") {
		t.Errorf("a connection was lost:\n%s", text)
	}
}
