package messaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// ErrUnsettled ends a delivery that is left to the broker; it is on its span.
var ErrUnsettled = errors.New("the delivery was lost or the service stops")

// deliver takes one delivery to its outcome. ctx is the delivery's; stop closes
// when the service takes no more work, and releases a held delivery.
func (c *Consumer) deliver(ctx context.Context, stop <-chan struct{}, h Handler, handle HandleFunc, d *Delivery) {
	ctx, span := c.tracer.startProcess(ctx, d)
	defer span.End()
	in := &inFlight{c: c, h: h, handle: handle, d: d, span: span, stop: stop}
	err := in.run(ctx)
	if err != nil && !errors.Is(err, ErrUnsettled) {
		c.log.WarnContext(ctx, "delivery not settled; the broker will deliver it again", "queue", d.Queue, "error", err)
	}
	fail(span, err)
}

// inFlight is one delivery on its way to its outcome.
type inFlight struct {
	c      *Consumer
	h      Handler
	handle HandleFunc
	d      *Delivery
	span   trace.Span
	stop   <-chan struct{}
}

func (in *inFlight) run(ctx context.Context) error {
	event, err := in.h.read(in.d.Message)
	if err != nil {
		return in.park(ctx, err)
	}
	if n := in.c.cfg.RenewAfter; n > 0 && in.d.Count >= n && len(in.c.cfg.RetryDelays) > 0 {
		return in.renew(ctx)
	}
	began := time.Now()
	logEvent(ctx, in.c.log, "← "+in.h.event, event, slog.Int("attempt", in.d.Attempt()))
	var out []Event
	held := func(err error) bool { return IsUnavailable(err) && !in.heldTooLong(began) }
	err = in.untilAvailable(ctx, held, func(ctx context.Context) (err error) {
		out, err = in.handle.safely(ctx, in.d, event)
		in.d.Tries++
		return err
	})
	switch {
	case errors.Is(err, ErrUnsettled):
		return err
	case IsUnavailable(err):
		return in.holdOutside(ctx, err)
	case err != nil:
		return in.failed(ctx, err)
	}
	for _, e := range out {
		if err := in.publish(ctx, func(ctx context.Context) error { return in.c.publisher.Publish(ctx, e) }); err != nil {
			return err
		}
	}
	return in.ack(ctx, in.c.counts.consumed)
}

// holdOutside goes on holding the message, but in a wait queue.
func (in *inFlight) holdOutside(ctx context.Context, err error) error {
	delays := in.c.cfg.RetryDelays
	delay := delays[len(delays)-1]
	in.c.log.WarnContext(ctx, "held for long; a copy waits outside", "queue", in.d.Queue, "booking", clip(in.d.CorrelationID, 100),
		"error", err, "in", delay, "wait queue", in.waitQueue(delay))
	return in.waitOutside(ctx, delay)
}

// renew makes the broker count anew how often the message came back.
func (in *inFlight) renew(ctx context.Context) error {
	delay := slices.Min(in.c.cfg.RetryDelays)
	in.c.log.WarnContext(ctx, "came back often; a copy waits outside, so that the broker does not park it", "queue", in.d.Queue,
		"booking", clip(in.d.CorrelationID, 100), "delivered before", in.d.Delivered(), "in", delay, "wait queue", in.waitQueue(delay))
	return in.waitOutside(ctx, delay)
}

// waitOutside has a copy of the message wait as the same attempt.
func (in *inFlight) waitOutside(ctx context.Context, delay time.Duration) error {
	m := in.d.copyForRepublish()
	m.Headers[HeaderAttempt] = int64(in.d.Attempt())
	m.Headers[HeaderDelivered] = int64(in.d.Delivered())
	return in.wait(ctx, delay, m, in.c.counts.held)
}

// wait has a copy wait out a delay; the span says where, and how long.
func (in *inFlight) wait(ctx context.Context, delay time.Duration, m Message, count metric.Int64Counter, labels ...attribute.KeyValue) error {
	in.span.SetAttributes(attribute.String("boxoffice.wait_queue", in.waitQueue(delay)), attribute.String("boxoffice.wait_delay", delay.String()))
	return in.moveTo(ctx, ExchangeRetry, RetryKey(delay, in.d.Queue), m, count, labels...)
}

func (in *inFlight) waitQueue(delay time.Duration) string {
	return WaitQueueName(in.c.cfg.Service, delay)
}

// failed sends a copy to wait for the next attempt, or parks the message.
func (in *inFlight) failed(ctx context.Context, err error) error {
	attempt, delays := in.d.Attempt(), in.c.cfg.RetryDelays
	log := in.c.log.With("queue", in.d.Queue, "booking", in.d.CorrelationID, "attempt", attempt, "error", err)
	if p, ok := errors.AsType[*panicError](err); ok {
		log = log.With("stack", string(p.stack))
	}
	fail(in.span, err)
	if IsPermanent(err) || attempt > len(delays) {
		return in.park(ctx, err)
	}
	delay := delays[attempt-1]
	log.WarnContext(ctx, "failed; will be tried again", "in", delay, "wait queue", in.waitQueue(delay))
	m := in.d.copyForRepublish()
	m.Headers[HeaderAttempt] = int64(attempt + 1)
	delete(m.Headers, HeaderDelivered)
	return in.wait(ctx, delay, m, in.c.counts.retried,
		attribute.Int("attempt", attempt), attribute.String("delay", delay.String())) // few values: no attempt is beyond the delays
}

// park puts a copy, with the reason, into the dead queue.
func (in *inFlight) park(ctx context.Context, reason error) error {
	fail(in.span, reason)
	in.c.log.ErrorContext(ctx, "parked", "queue", DeadQueueName(in.d.Queue), "booking", clip(in.d.CorrelationID, 100),
		"attempt", in.d.Attempt(), "reason", reason)
	m := in.d.copyForRepublish()
	m.Headers[HeaderReason] = clip(reason.Error(), 1000)
	m.Headers[HeaderService] = in.c.cfg.Service
	m.Headers[HeaderAttempt] = int64(in.d.Attempt())
	m.Headers[HeaderTraceID] = in.span.SpanContext().TraceID().String()
	m.Headers[HeaderParkedAt] = time.Now().UTC().Format(time.RFC3339)
	return in.moveTo(ctx, ExchangeDead, in.d.Queue, m, in.c.counts.parked)
}

// moveTo publishes a copy, confirmed, and only then acknowledges the original.
func (in *inFlight) moveTo(ctx context.Context, exchange, key string, m Message, count metric.Int64Counter, labels ...attribute.KeyValue) error {
	err := in.publish(ctx, func(ctx context.Context) error {
		m := m
		m.Headers = maps.Clone(m.Headers) // each try writes its own trace context
		return in.c.publisher.send(ctx, exchange, key, m)
	})
	if err != nil {
		return err
	}
	return in.ack(ctx, count, labels...)
}

// publish holds the delivery until the broker has taken what follows from it.
func (in *inFlight) publish(ctx context.Context, send func(context.Context) error) error {
	always := func(error) bool { return true }
	return in.untilAvailable(ctx, always, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, in.c.cfg.PublishTimeout)
		defer cancel()
		return send(ctx)
	})
}

// untilAvailable tries until it gets a result that is not ours to hold, or the
// delivery is lost or the service stops: ErrUnsettled.
func (in *inFlight) untilAvailable(ctx context.Context, held func(error) bool, try func(context.Context) error) error {
	for wait := newBackoff(100*time.Millisecond, 5*time.Second); ; {
		err := try(ctx)
		if err != nil && ctx.Err() != nil {
			return ErrUnsettled // whatever it says: the delivery is no longer ours
		}
		if err == nil || !held(err) {
			return err
		}
		d := wait.next()
		in.count(ctx, in.c.counts.held)
		in.span.AddEvent("held", trace.WithAttributes(attribute.String("error", err.Error())))
		in.c.log.WarnContext(ctx, "held; trying again", "queue", in.d.Queue, "booking", in.d.CorrelationID,
			"error", err, "in", d.Round(time.Millisecond))
		if !pause(ctx, in.stop, d) {
			return ErrUnsettled
		}
	}
}

func (in *inFlight) heldTooLong(since time.Time) bool {
	return len(in.c.cfg.RetryDelays) > 0 && time.Since(since) > in.c.cfg.HoldLimit
}

func (in *inFlight) ack(ctx context.Context, count metric.Int64Counter, labels ...attribute.KeyValue) error {
	if err := in.d.Settler.Ack(); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	in.count(ctx, count, labels...)
	return nil
}

func (in *inFlight) count(ctx context.Context, c metric.Int64Counter, labels ...attribute.KeyValue) {
	in.c.byEvent.count(ctx, c, in.h.event, labels...)
}
