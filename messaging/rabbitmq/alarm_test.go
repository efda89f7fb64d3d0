package rabbitmq_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// alarm makes the broker short of memory until the returned function is called.
func (f *fixture) alarm() (end func()) {
	f.Helper()
	set := func(watermark string) { f.server.Ctl(f.T, "set_vm_memory_high_watermark", watermark) }
	set("0")
	return sync.OnceFunc(func() { set("0.4") })
}

// blocked publishes until the broker says that it no longer reads.
func (f *fixture) blocked(b *rabbitmq.Broker) error {
	f.Helper()
	_ = f.impatient(b, "triggers the block") // confirmed or not
	return f.until(b, false)
}

// impatient publishes with a short deadline and returns whether it passed.
func (f *fixture) impatient(b *rabbitmq.Broker, id string) error {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 200*time.Millisecond)
	defer cancel()
	return b.Publish(ctx, messagingtest.Shop().EventsExchange(), key, message(id))
}

func TestAlarmEndsPublishesWithTheirContext(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	f.publish(b, "before")
	end := f.alarm()
	defer end()
	if err := f.blocked(b); !strings.Contains(err.Error(), "blocks publishing: low on memory") {
		f.Errorf("Ready says %v", err)
	}
	for range 3 {
		err := f.impatient(b, "never written")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "blocks publishing") {
			f.Errorf("publish under an alarm: %v, want the deadline and the reason", err)
		}
	}
	// Consuming has a connection of its own and goes on.
	got := make(chan string, 10)
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) {
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		got <- d.ID
	})
	if id := receive(f, got, "a delivery under the alarm"); id != "before" {
		f.Errorf("got %s", id)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message("patient")) }()
	end()
	if err := receive(f, waiting, "the publish that waited for the end of the alarm"); err != nil {
		f.Errorf("after the alarm: %v", err)
	}
	_ = f.until(b, true)
	for id := ""; id != "patient"; {
		if id = receive(f, got, "the message of after the alarm"); id == "never written" {
			f.Error("a message was written although the broker had said that it does not read")
		}
	}
	stop()
}

func TestCloseUnderAlarm(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	f.publish(b, "before")
	end := f.alarm()
	defer end()
	_ = f.blocked(b)
	waiting := make(chan error, 1)
	go func() { waiting <- b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message("waits")) }()
	ctx, cancel := context.WithTimeout(f.ctx, 200*time.Millisecond)
	defer cancel()
	check := within(t, 10*time.Second, "Close under an alarm")
	_ = b.Close(ctx) // an error if the triggering publish is still unconfirmed
	check()
	if err := receive(f, waiting, "the waiting publish"); !errors.Is(err, messaging.ErrClosed) {
		f.Errorf("the waiting publish: %v, want ErrClosed", err)
	}
}

// Bodies larger than all buffers get stuck in the socket: only who writes them
// may wait for it.
func TestStuckWriteHoldsUpNoCaller(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	p := newProxy(t, f.url)
	b := open(t, p.url, rabbitmq.Options{})
	f.publish(b, "before")
	p.freeze()
	large := message("large")
	large.Body = make([]byte, 16<<20)
	for i := range 3 {
		ctx, cancel := context.WithTimeout(f.ctx, 500*time.Millisecond)
		err := b.Publish(ctx, messagingtest.Shop().EventsExchange(), key, large)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("publish %d: %v, want the deadline", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(f.ctx, 100*time.Millisecond)
	defer cancel()
	check := within(t, 10*time.Second, "Close with a stuck write")
	if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 publishes are unconfirmed") {
		f.Errorf("close: %v, want that the stuck one is unconfirmed and the others were never written", err)
	}
	check()
}
