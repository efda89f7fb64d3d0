package messaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// ConsumerConfig says how a service consumes.
type ConsumerConfig struct {
	// Prefetch is how many deliveries of each queue run at once; 0: 64.
	Prefetch int
	// Grace is how long running handlers may take when the consumer stops; 0: 10 s.
	Grace time.Duration
	// PublishTimeout bounds one try at publishing; 0: 30 s.
	PublishTimeout time.Duration
	// HoldLimit is how long one delivery is held, with the time of its handler;
	// 0: 15 min. Then a copy waits out the longest delay, as the same attempt:
	// brokers close the channels of consumers that do not acknowledge for too
	// long (RabbitMQ's consumer_timeout: 30 min), count that against the message,
	// and in the end park it. Keep it at half of the broker's limit or less. A
	// handler whose context ends for it is held as if it had been Unavailable. If
	// the broker turns out to be less patient, the limit is lowered to half of that.
	HoldLimit time.Duration
	// RenewAfter is how often a message may come back to the queue before a copy
	// waits out the shortest delay, as the same attempt, and the broker counts
	// anew; 0: never. It is for labs, whose faults take the channel from
	// messages that did nothing. In earnest the broker's limit has to stay in
	// force: nothing else ends a message that kills its consumer.
	RenewAfter int
	// Middleware wraps every handler, the first one outermost.
	Middleware []Middleware
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
	publisher *Publisher // which knows the system and the service, too
	handlers  []Handler
	log       *slog.Logger
	tell      Instruments
	tracer    tracer
	counts    consumerCounts
	byEvent   byEvent
	limit     holdLimit
}

type consumerCounts struct{ consumed, retried, parked, held metric.Int64Counter }

// NewConsumer makes the Consumer of p's service, which publishes by p. Its error
// says where the handlers and the routes of the service differ: there must be
// one handler for each event that it consumes.
func NewConsumer(b Broker, p *Publisher, cfg ConsumerConfig, i Instruments, handlers ...Handler) (*Consumer, error) {
	if p == nil {
		return nil, errors.New("a consumer needs the publisher of its service")
	}
	if err := p.checkHandlers(handlers); err != nil {
		return nil, err
	}
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
	if cfg.HoldLimit == 0 {
		cfg.HoldLimit = 15 * time.Minute
	}
	c := &Consumer{
		cfg: cfg, broker: b, publisher: p, handlers: handlers, log: i.Logger, tell: i, tracer: newTracer(b, i), byEvent: newByEvent(p.routes.Consumes),
		counts: consumerCounts{
			consumed: i.counter("consumed", "Deliveries handled and acknowledged, by event."),
			retried:  i.counter("retried", "Copies sent to wait for another attempt, by event, the attempt that failed, and the delay."),
			parked:   i.counter("parked", "Messages parked in a dead queue by this service, by event."),
			held:     i.counter("held", "Tries after which a delivery was held, by event."),
		},
	}
	c.limit.d.Store(int64(cfg.HoldLimit))
	return c, nil
}

// checkHandlers says where the handlers and the service's routes differ.
func (p *Publisher) checkHandlers(handlers []Handler) error {
	var errs []error
	seen := make(map[string]bool)
	for _, h := range handlers {
		switch {
		case h.wrong != nil:
			errs = append(errs, h.wrong)
		case seen[h.event]:
			errs = append(errs, fmt.Errorf("two handlers for %s", h.event))
		case !slices.Contains(p.routes.Consumes, h.event):
			errs = append(errs, fmt.Errorf("a handler for %s, which the routes of %s do not have", h.event, p.service))
		}
		seen[h.event] = true
	}
	for _, e := range p.routes.Consumes {
		if !seen[e] {
			errs = append(errs, fmt.Errorf("no handler for %s, which %s consumes", e, p.service))
		}
	}
	return errors.Join(errs...)
}

func (c *Consumer) system() System { return c.publisher.system }

func (c *Consumer) delays() []time.Duration { return c.publisher.system.RetryDelays }

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
		handle := h.with(c.cfg.Middleware)
		running.Go(func() {
			queue := c.system().Queue(c.publisher.service, h.event)
			holds := &holds{log: c.log, queue: queue, keyName: c.tell.KeyName}
			if n := len(c.delays()); n > 0 {
				holds.absence = c.delays()[n-1]
			}
			defer holds.stop()
			err := c.broker.Consume(work, Subscription{
				Queue: queue, Prefetch: c.cfg.Prefetch, Stop: ctx.Done(),
				Handle: func(wctx context.Context, d *Delivery) { c.deliver(wctx, ctx.Done(), h, handle, holds, d) },
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
		quickly := min(c.cfg.Grace, time.Second)
		if waitFor(done, quickly) {
			break
		}
		if c.cfg.Grace > quickly {
			c.log.InfoContext(ctx, "stopping: handlers still run, and get their grace", "grace", c.cfg.Grace)
		}
		if !waitFor(done, c.cfg.Grace-quickly) {
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
