package messaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// ConsumerConfig says how a service consumes.
type ConsumerConfig struct {
	Service string
	// RetryDelays are the waits before the second attempt, the third and so on;
	// after the attempt that follows the last one a message is parked.
	RetryDelays []time.Duration
	// Prefetch is how many deliveries of each queue run at once; 0: 64.
	Prefetch int
	// Grace is how long running handlers may take when the consumer stops; 0: 10 s.
	Grace time.Duration
	// PublishTimeout bounds one try at publishing; 0: 30 s.
	PublishTimeout time.Duration
}

// Consumer runs a service's handlers, each on its own queue, and decides what
// becomes of each delivery by what its handler returned: see [On].
//
// It never acknowledges before what follows from a delivery is confirmed:
// the outgoing events, the copy that waits for a retry, or the parked copy.
// Publishing that fails or is blocked holds the delivery and is tried again.
type Consumer struct {
	cfg       ConsumerConfig
	broker    Broker
	publisher *Publisher
	handlers  []Handler
	log       *slog.Logger
	tracer    tracer
	counts    consumerCounts
}

type consumerCounts struct{ consumed, retried, parked, held metric.Int64Counter }

// NewConsumer makes the Consumer of a service. It panics if two handlers
// consume the same event.
func NewConsumer(b Broker, p *Publisher, cfg ConsumerConfig, i Instruments, handlers ...Handler) *Consumer {
	i = i.withDefaults()
	if cfg.Prefetch == 0 {
		cfg.Prefetch = 64
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if cfg.PublishTimeout == 0 {
		cfg.PublishTimeout = 30 * time.Second
	}
	seen := make(map[string]bool)
	for _, h := range handlers {
		if seen[h.event] {
			panic(fmt.Sprintf("messaging: two handlers for %s", h.event))
		}
		seen[h.event] = true
	}
	counter := func(name, text string) metric.Int64Counter {
		c, _ := i.MeterProvider.Meter(scope).Int64Counter("boxoffice.messages."+name, metric.WithDescription(text)) // fails on a bad name only
		return c
	}
	return &Consumer{
		cfg: cfg, broker: b, publisher: p, handlers: handlers, log: i.Logger, tracer: newTracer(b, i),
		counts: consumerCounts{
			consumed: counter("consumed", "Deliveries handled and acknowledged, by event."),
			retried:  counter("retried", "Copies sent to wait for another attempt, by event."),
			parked:   counter("parked", "Messages parked in a dead queue by this service, by event."),
			held:     counter("held", "Tries after which a delivery was held, by event."),
		},
	}
}

// Run consumes until ctx ends. Then it takes no more deliveries, gives the
// running ones their grace, releases what is not settled by then, and returns
// with no handler running.
func (c *Consumer) Run(ctx context.Context) error {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	done := make(chan struct{})
	errs := make([]error, len(c.handlers))
	var running sync.WaitGroup
	for i, h := range c.handlers {
		running.Go(func() {
			queue := QueueName(c.cfg.Service, h.event)
			err := c.broker.Consume(work, Subscription{
				Queue: queue, Prefetch: c.cfg.Prefetch, Stop: ctx.Done(),
				Handle: func(wctx context.Context, d *Delivery) { c.deliver(wctx, ctx.Done(), h, d) },
			})
			if err != nil && !errors.Is(err, ErrClosed) {
				errs[i] = fmt.Errorf("consume %s: %w", queue, err)
			}
		})
	}
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		if !waitFor(done, c.cfg.Grace) {
			c.log.WarnContext(ctx, "handlers still run after the grace period; their deliveries go back to the broker", "grace", c.cfg.Grace)
			abandon()
			<-done
		}
	}
	return errors.Join(errs...)
}

func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// errUnsettled ends a delivery that is left to the broker.
var errUnsettled = errors.New("the delivery was lost or the service stops")

// deliver takes one delivery to its outcome. ctx is the delivery's; stop closes
// when the service takes no more work, and releases a held delivery.
func (c *Consumer) deliver(ctx context.Context, stop <-chan struct{}, h Handler, d *Delivery) {
	ctx, span := c.tracer.startProcess(ctx, d)
	defer span.End()
	in := &inFlight{c: c, h: h, d: d, span: span, stop: stop}
	err := in.run(ctx)
	if err != nil && !errors.Is(err, errUnsettled) {
		c.log.WarnContext(ctx, "delivery not settled; the broker will deliver it again", "queue", d.Queue, "error", err)
	}
	fail(span, err)
}

// inFlight is one delivery on its way to its outcome.
type inFlight struct {
	c    *Consumer
	h    Handler
	d    *Delivery
	span trace.Span
	stop <-chan struct{}
}

func (in *inFlight) run(ctx context.Context) error {
	event, err := in.h.read(in.d.Message)
	if err != nil {
		return in.park(ctx, err)
	}
	logEvent(ctx, in.c.log, "← "+in.h.event, event, slog.Int("attempt", in.d.Attempt()))
	var out []Event
	err = in.untilAvailable(ctx, IsUnavailable, func(ctx context.Context) (err error) {
		out, err = in.h.call(ctx, event)
		return err
	})
	switch {
	case errors.Is(err, errUnsettled):
		return err
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
	log.WarnContext(ctx, "failed; will be tried again", "in", delay)
	m := in.d.copyForRepublish()
	m.Headers[HeaderAttempt] = int64(attempt + 1)
	return in.moveTo(ctx, ExchangeRetry, RetryKey(delay, in.d.Queue), m, in.c.counts.retried)
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
func (in *inFlight) moveTo(ctx context.Context, exchange, key string, m Message, count metric.Int64Counter) error {
	err := in.publish(ctx, func(ctx context.Context) error {
		m := m
		m.Headers = maps.Clone(m.Headers) // each try writes its own trace context
		return in.c.publisher.send(ctx, exchange, key, m)
	})
	if err != nil {
		return err
	}
	return in.ack(ctx, count)
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
// delivery is lost or the service stops: errUnsettled.
func (in *inFlight) untilAvailable(ctx context.Context, held func(error) bool, try func(context.Context) error) error {
	for wait := newBackoff(100*time.Millisecond, 5*time.Second); ; {
		err := try(ctx)
		if err == nil || !held(err) {
			return err
		}
		if ctx.Err() != nil {
			return errUnsettled
		}
		d := wait.next()
		in.count(ctx, in.c.counts.held)
		in.span.AddEvent("held", trace.WithAttributes(attribute.String("error", err.Error())))
		in.c.log.WarnContext(ctx, "held; trying again", "queue", in.d.Queue, "booking", in.d.CorrelationID,
			"error", err, "in", d.Round(time.Millisecond))
		if !pause(ctx, in.stop, d) {
			return errUnsettled
		}
	}
}

func (in *inFlight) ack(ctx context.Context, count metric.Int64Counter) error {
	if err := in.d.Settler.Ack(); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	in.count(ctx, count)
	return nil
}

func (in *inFlight) count(ctx context.Context, c metric.Int64Counter) {
	c.Add(ctx, 1, metric.WithAttributes(attribute.String("event", in.h.event)))
}
