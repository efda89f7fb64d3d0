package lab

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Unsafe turns one safety off, so that a learner sees what it is for. "" is
// none. Those of messaging are in this file, those of seats in its unsafe.go;
// nothing else in the code knows about them.
type Unsafe string

// The safeties that can be turned off, one at a time.
const (
	NoConfirm    Unsafe = "no-confirm"     // publishing does not wait for the broker's word
	AckFirst     Unsafe = "ack-first"      // a delivery is acknowledged before it is handled
	RequeueNow   Unsafe = "requeue-now"    // a failed message is requeued in place
	NoTombstone  Unsafe = "no-tombstone"   // seats forgets what it released
	NoOwnerCheck Unsafe = "no-owner-check" // seats releases a seat whoever holds it
)

// Unsafes are all of them.
func Unsafes() []Unsafe { return []Unsafe{NoConfirm, AckFirst, NoTombstone, NoOwnerCheck, RequeueNow} }

// Consequence is what is no longer guaranteed.
func (u Unsafe) Consequence() string {
	switch u {
	case NoConfirm:
		return "an event that the broker never got counts as published"
	case AckFirst:
		return "a crash while an event is handled loses it"
	case RequeueNow:
		return "a failing event comes back at once, in a hot loop, until the broker's delivery limit parks it"
	case NoTombstone:
		return "a booking that was released, or failed before it came, may hold a seat again"
	case NoOwnerCheck:
		return "a failed payment may release another booking's seat"
	}
	return ""
}

// Warn says so, loudly, in the log of a service that starts.
func (u Unsafe) Warn(ctx context.Context, log *slog.Logger) {
	if u != "" {
		log.WarnContext(ctx, "UNSAFE="+string(u)+": A SAFETY IS OFF ON PURPOSE, "+strings.ToUpper(u.Consequence()))
	}
}

// Broker is b with the safety off, if it is one of messaging; else b itself.
func (u Unsafe) Broker(b messaging.Broker, log *slog.Logger) messaging.Broker {
	switch u {
	case NoConfirm, AckFirst, RequeueNow:
		return &unsafeBroker{Broker: b, off: u, log: log}
	case NoTombstone, NoOwnerCheck:
	}
	return b
}

// unsafeBroker is a broker as careless code would use it.
type unsafeBroker struct {
	messaging.Broker
	off Unsafe
	log *slog.Logger

	publishing sync.WaitGroup // without confirm
}

// carelessly bounds a publish that nobody waits for.
const carelessly = time.Second

// Publish implements [messaging.Broker], carelessly.
func (b *unsafeBroker) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	switch {
	case b.off == NoConfirm:
		b.publishing.Go(func() { b.publishUnheard(ctx, exchange, key, m) })
		return nil
	case b.off == RequeueNow && exchange == tickets.ExchangeRetry:
		exchange, key, m = requeued(key, m)
		b.log.WarnContext(ctx, "UNSAFE=requeue-now: it does not wait, whatever is said", "to", exchange, "booking", m.CorrelationID)
	}
	if err := b.Broker.Publish(ctx, exchange, key, m); err != nil {
		return fmt.Errorf("UNSAFE=%s: %w", b.off, err)
	}
	return nil
}

// headerRequeues counts what a broker counts of a message that is requeued.
const headerRequeues = "x-unsafe-requeues"

// requeued is where a message goes that waits for its next attempt, if it is
// requeued in place instead, as by basic.reject: at once to where it came from,
// as the same attempt, for nobody writes into its headers; and once the broker's
// delivery limit is reached, to the dead queue.
func requeued(retryKey string, m messaging.Message) (exchange, key string, _ messaging.Message) {
	if m.Headers = maps.Clone(m.Headers); m.Headers == nil {
		m.Headers = map[string]any{}
	}
	if _, waits := m.Headers[messaging.HeaderDelivered]; waits { // it did not fail
		return tickets.ExchangeRedeliver, retryKey, m
	}
	m.Headers[messaging.HeaderAttempt] = int64(m.Attempt() - 1)
	requeues, _ := m.Headers[headerRequeues].(int64)
	if requeues < messaging.WorkDeliveryLimit {
		m.Headers[headerRequeues] = requeues + 1
		return tickets.ExchangeRedeliver, retryKey, m
	}
	delete(m.Headers, headerRequeues)
	m.Headers[messaging.HeaderReason] = fmt.Sprintf("UNSAFE=requeue-now: it came back %d times, and the broker's delivery limit parks it", requeues)
	_, queue, _ := strings.Cut(retryKey, ".")
	m.Headers[messaging.HeaderService], _, _ = strings.Cut(queue, ".")
	m.Headers[messaging.HeaderParkedAt] = time.Now().UTC().Format(time.RFC3339)
	return tickets.ExchangeDead, queue, m
}

// publishUnheard writes into a socket that may be dead, and never learns it.
func (b *unsafeBroker) publishUnheard(ctx context.Context, exchange, key string, m messaging.Message) {
	err := b.Ready()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), carelessly)
		defer cancel()
		err = b.Broker.Publish(ctx, exchange, key, m)
	}
	if err != nil {
		b.log.WarnContext(ctx, "UNSAFE=no-confirm: a message is lost, and its publisher does not know",
			"exchange", exchange, "key", key, "booking", m.CorrelationID, "error", err)
	}
}

// Consume implements [messaging.Broker], carelessly.
func (b *unsafeBroker) Consume(ctx context.Context, s messaging.Subscription) error {
	if b.off == AckFirst {
		handle := s.Handle
		s.Handle = func(ctx context.Context, d *messaging.Delivery) {
			if err := d.Settler.Ack(); err != nil {
				return // it was lost, and comes again
			}
			d.Settler = acked{d.Settler}
			handle(ctx, d)
		}
	}
	return b.Broker.Consume(ctx, s)
}

// Close implements [messaging.Broker].
func (b *unsafeBroker) Close(ctx context.Context) error {
	b.publishing.Wait() // each is bounded
	return b.Broker.Close(ctx)
}

// acked is a delivery that was acknowledged before it was handled.
type acked struct{ messaging.Settler }

func (acked) Ack() error { return nil }
