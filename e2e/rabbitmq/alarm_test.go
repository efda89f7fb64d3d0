package rabbitmq_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// alarm makes the broker short of memory until the returned function is called.
func (f *fixture) alarm() (end func()) {
	f.Helper()
	set := func(watermark string) { f.machine.Ctl(f.T, "set_vm_memory_high_watermark", watermark) }
	set("0")
	return sync.OnceFunc(func() { set("0.4") })
}

// blocked publishes until the broker says that it no longer reads.
func (f *fixture) blocked(b *rabbitmq.Broker) error {
	f.Helper()
	_ = f.Impatient(b, "triggers the block") // confirmed or not
	return f.Until(b, false)
}

func TestAlarmEndsPublishesWithTheirContext(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	f.Publish(b, "before")
	end := f.alarm()
	defer end()
	if err := f.blocked(b); !strings.Contains(err.Error(), "blocks publishing: low on memory") {
		f.Errorf("Ready says %v", err)
	}
	for range 3 {
		err := f.Impatient(b, "never written")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "blocks publishing") {
			f.Errorf("publish under an alarm: %v, want the deadline and the reason", err)
		}
	}
	// Consuming has a connection of its own and goes on.
	got := make(chan string, 10)
	stop := f.Consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.ID
	})
	if id := receive(f, got, "a delivery under the alarm"); id != "before" {
		f.Errorf("got %s", id)
	}
	waiting := make(chan error, 1)
	go func() {
		waiting <- b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, rabbitmqtest.Message("patient"))
	}()
	end()
	if err := receive(f, waiting, "the publish that waited for the end of the alarm"); err != nil {
		f.Errorf("after the alarm: %v", err)
	}
	_ = f.Until(b, true)
	for id := ""; id != "patient"; {
		if id = receive(f, got, "the message of after the alarm"); id == "never written" {
			f.Error("a message was written although the broker had said that it does not read")
		}
	}
	stop()
}

func TestCloseUnderAlarm(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	f.Publish(b, "before")
	end := f.alarm()
	defer end()
	_ = f.blocked(b)
	waiting := make(chan error, 1)
	go func() {
		waiting <- b.Publish(f.Ctx, messagingtest.Shop().EventsExchange(), key, rabbitmqtest.Message("waits"))
	}()
	ctx, cancel := context.WithTimeout(f.Ctx, 200*time.Millisecond)
	defer cancel()
	check := rabbitmqtest.Within(t, 10*time.Second, "Close under an alarm")
	_ = b.Close(ctx) // an error if the triggering publish is still unconfirmed
	check()
	if err := receive(f, waiting, "the waiting publish"); !errors.Is(err, messaging.ErrClosed) {
		f.Errorf("the waiting publish: %v, want ErrClosed", err)
	}
}

// Nobody publishes while the broker has an alarm, and somebody asks again and
// again: the answer is no until the alarm ends, and the connection that is to
// publish is left alone.
func TestReadyIsSteadyUnderAnAlarm(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	var log buffer
	b := rabbitmqtest.Open(t, f.URL, rabbitmq.Options{
		Probe:  rabbitmqtest.Shop().Probe(messagingtest.Stock),
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	_ = f.Until(b, true)
	end := f.alarm()
	defer end()
	if err := f.Until(b, false); !strings.Contains(err.Error(), "blocks publishing") {
		f.Errorf("Ready says %v", err)
	}
	ask := time.NewTicker(100 * time.Millisecond)
	defer ask.Stop()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); <-ask.C { // longer than a probe and a pause
		if err := b.Ready(); err == nil {
			t.Fatal("ready for a moment, though the alarm lasts")
		}
	}
	end()
	_ = f.Until(b, true)
	if text := log.String(); strings.Contains(text, "no connection to the broker") {
		t.Errorf("a connection was lost:\n%s", text)
	}
}
