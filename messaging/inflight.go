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
func (c *Consumer) deliver(ctx context.Context, stop <-chan struct{}, h Handler, handle HandleFunc, holds *holds, d *Delivery) {
	ctx, span := c.tracer.startProcess(ctx, d)
	defer span.End()
	in := &inFlight{c: c, h: h, handle: handle, d: d, span: span, stop: stop, holds: holds, began: time.Now()}
	err := in.run(ctx)
	if err != nil {
		c.limit.learn(ctx, c.log, max(time.Since(in.began), holds.longest()))
	}
	holds.end(in)
	if err != nil && !errors.Is(err, ErrUnsettled) {
		level := slog.LevelWarn
		if ctx.Err() != nil { // the session is lost, with all that it delivered; that is said once
			level = slog.LevelDebug
		}
		c.log.Log(ctx, level, "delivery not settled; the broker will deliver it again", "queue", d.Queue, "error", err)
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
	began  time.Time

	holds *holds // of its queue
	held  bool   // counts among them
	// outside: what is held from now on is only the moving of the message to
	// where it may wait, which nothing can take over.
	outside bool
}

func (in *inFlight) run(ctx context.Context) error {
	err := in.decide(ctx)
	if long, ok := errors.AsType[*heldTooLongError](err); ok {
		return in.holdOutside(ctx, long.err)
	}
	return err
}

func (in *inFlight) decide(ctx context.Context) error {
	event, err := in.h.Decode(in.d.Message)
	if err != nil {
		return in.park(ctx, err)
	}
	if n := in.c.cfg.RenewAfter; n > 0 && in.d.Count >= n && len(in.c.delays()) > 0 {
		return in.renew(ctx)
	}
	ctx = in.c.system().carry(ctx, in.d.Message)
	in.c.tell.logEvent(ctx, "← "+in.h.event, event, slog.Int("attempt", in.d.Attempt()))
	return in.work(ctx, event)
}

// work handles the event and publishes what follows.
func (in *inFlight) work(ctx context.Context, event Event) error {
	var out []Event
	err := in.untilAvailable(ctx, IsUnavailable, func(ctx context.Context) (err error) {
		out, err = in.handleInTime(ctx, event)
		return err
	})
	switch {
	case errors.Is(err, ErrUnsettled), isHeldTooLong(err):
		return err
	case err != nil:
		return in.failed(ctx, err)
	}
	for _, e := range out {
		err := in.publish(ctx, func(ctx context.Context) error { return in.c.publisher.Publish(ctx, e) })
		if errors.Is(err, ErrUnfit) || errors.Is(err, ErrRefused) { // never will be
			return in.failed(ctx, Permanent(err))
		}
		if err != nil {
			return err
		}
	}
	return in.ack(ctx, in.c.counts.consumed)
}

// handleInTime runs the handler, whose time is the broker's, too: it ends with
// the time for which the delivery may be held. What the handler says then is
// of the time, not of the message, unless it says so.
func (in *inFlight) handleInTime(ctx context.Context, event Event) ([]Event, error) {
	inTime, cancel := ctx, context.CancelFunc(func() {})
	if end, bounded := in.heldUntil(); bounded {
		inTime, cancel = context.WithDeadline(ctx, end)
	}
	defer cancel()
	out, err := in.handle.safely(inTime, in.d, event)
	in.d.Tries++
	if err != nil && inTime.Err() != nil && !IsPermanent(err) {
		err = Unavailable(err)
	}
	return out, err
}

// holdOutside goes on holding the message, but in a wait queue.
func (in *inFlight) holdOutside(ctx context.Context, err error) error {
	delays := in.c.delays()
	delay := delays[len(delays)-1]
	in.c.log.DebugContext(ctx, "held for long; a copy waits outside", "queue", in.d.Queue, in.c.tell.KeyName, clip(in.d.CorrelationID, 100),
		"error", err, "in", delay, "wait queue", in.waitQueue(delay))
	in.outside = true
	return in.waitOutside(ctx, delay)
}

// renew makes the broker count anew how often the message came back.
func (in *inFlight) renew(ctx context.Context) error {
	delay := slices.Min(in.c.delays())
	in.c.log.WarnContext(ctx, "came back often; a copy waits outside, so that the broker does not park it", "queue", in.d.Queue,
		in.c.tell.KeyName, clip(in.d.CorrelationID, 100), "delivered before", in.d.Delivered(), "in", delay, "wait queue", in.waitQueue(delay))
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
	in.span.SetAttributes(attribute.String(in.c.tell.Namespace+".wait_queue", in.waitQueue(delay)),
		attribute.String(in.c.tell.Namespace+".wait_delay", delay.String()))
	return in.moveTo(ctx, in.c.system().RetryExchange(), RetryKey(delay, in.d.Queue), m, count, labels...)
}

func (in *inFlight) waitQueue(delay time.Duration) string {
	return in.c.system().WaitQueue(in.c.publisher.service, delay)
}

// failed sends a copy to wait for the next attempt, or parks the message.
func (in *inFlight) failed(ctx context.Context, err error) error {
	attempt, delays := in.d.Attempt(), in.c.delays()
	log := in.c.log.With("queue", in.d.Queue, in.c.tell.KeyName, clip(in.d.CorrelationID, 100), "attempt", attempt, "error", err)
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
	in.c.log.ErrorContext(ctx, "parked", "queue", DeadQueue(in.d.Queue), in.c.tell.KeyName, clip(in.d.CorrelationID, 100),
		"attempt", in.d.Attempt(), "reason", reason)
	m := in.d.copyForRepublish()
	m.Headers[HeaderReason] = clip(reason.Error(), 1000)
	m.Headers[HeaderService] = in.c.publisher.service
	m.Headers[HeaderAttempt] = int64(in.d.Attempt())
	m.Headers[HeaderTraceID] = in.span.SpanContext().TraceID().String()
	m.Headers[HeaderParkedAt] = time.Now().UTC().Format(time.RFC3339)
	return in.moveTo(ctx, in.c.system().DeadExchange(), in.d.Queue, m, in.c.counts.parked)
}

// moveTo publishes a copy, confirmed, and only then acknowledges the original.
func (in *inFlight) moveTo(ctx context.Context, exchange, key string, m Message, count metric.Int64Counter, labels ...attribute.KeyValue) error {
	err := in.publish(ctx, func(ctx context.Context) error {
		m := m
		m.Headers = maps.Clone(m.Headers) // each try writes its own trace context
		return in.c.publisher.sendCopy(ctx, exchange, key, m)
	})
	if err != nil {
		return err
	}
	return in.ack(ctx, count, labels...)
}

// publish holds the delivery until the broker has taken what follows from it.
// What no broker takes is an error that wraps ErrUnfit, and what must not be
// published one that wraps ErrRefused.
func (in *inFlight) publish(ctx context.Context, send func(context.Context) error) error {
	held := func(err error) bool { return !errors.Is(err, ErrUnfit) && !errors.Is(err, ErrRefused) }
	return in.untilAvailable(ctx, held, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, in.c.cfg.PublishTimeout)
		defer cancel()
		return send(ctx)
	})
}

// untilAvailable tries until it gets a result that is not ours to hold, or the
// delivery was held for as long as it may be: heldTooLongError; or the delivery is
// lost or the service stops: ErrUnsettled.
func (in *inFlight) untilAvailable(ctx context.Context, held func(error) bool, try func(context.Context) error) error {
	for wait := newBackoff(100*time.Millisecond, maxPause); ; {
		err := try(ctx)
		if err != nil && ctx.Err() != nil {
			return in.unsettled(ctx)
		}
		if err == nil || !held(err) {
			return err
		}
		in.count(ctx, in.c.counts.held)
		in.span.AddEvent("held", trace.WithAttributes(attribute.String("error", err.Error())))
		d := wait.next()
		end, bounded := in.heldUntil()
		if bounded {
			d = min(d, time.Until(end))
		}
		in.holds.tried(ctx, in, err, d)
		if d > 0 && !pause(ctx, in.stop, d) {
			return in.unsettled(ctx)
		}
		if bounded && !time.Now().Before(end) {
			return &heldTooLongError{err}
		}
	}
}

// unsettled is the end of a delivery that is no longer ours; it says why.
func (in *inFlight) unsettled(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", ErrUnsettled, cause)
	}
	return ErrUnsettled
}

// heldUntil is when the message is to wait elsewhere, if there is anywhere.
func (in *inFlight) heldUntil() (end time.Time, bounded bool) {
	return in.began.Add(in.c.limit.get()), len(in.c.delays()) > 0 && !in.outside
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
