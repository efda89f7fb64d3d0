package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DeadLetters looks at parked messages and sends them back to the queue that
// failed. It is safe to run twice at once: a message that one run holds is not
// seen by the other. Set its fields before the first use.
type DeadLetters struct {
	// Prepare, if set, gets the context in which a message is redriven, with the
	// trace and the baggage that came with the message, and returns the one that
	// is to go on with it.
	Prepare func(context.Context) context.Context
	// Before, if set, is asked before each message that matches is redriven or
	// dropped. Its error ends the run; this message and the rest stay parked.
	Before func(context.Context, DeadLetter) error
	// Held, if set, is called for each look into a work queue's parked messages
	// that did not see all, because someone else was looking at some.
	Held func(workQueue string)
	// PublishTimeout bounds the publishing of each message; 0: 30 s.
	PublishTimeout time.Duration

	broker    Broker
	publisher *Publisher
}

// NewDeadLetters makes a DeadLetters of a system; its redrives appear in the
// traces under service, which need not be one of the system's.
func NewDeadLetters(b Broker, s System, service string, i Instruments) *DeadLetters {
	return &DeadLetters{broker: b, publisher: newPublisher(b, s, service, i)}
}

// List shows the parked messages of a work queue, oldest first; all stay parked.
func (d *DeadLetters) List(ctx context.Context, workQueue string, visit func(DeadLetter) error) error {
	return d.browse(ctx, workQueue, func(_ context.Context, m Message) (bool, error) {
		return false, visit(newDeadLetter(workQueue, m))
	})
}

func (d *DeadLetters) browse(ctx context.Context, workQueue string, visit func(context.Context, Message) (bool, error)) error {
	err := d.broker.Browse(ctx, DeadQueue(workQueue), visit)
	if !errors.Is(err, ErrHeld) {
		return err
	}
	if d.Held != nil {
		d.Held(workQueue)
	}
	return nil
}

// Redrive sends the parked messages of a work queue that match back to that
// queue, and to no other, and returns how many. Each is confirmed there before
// it is removed here, so that a crash between may deliver one twice but loses
// none. Its attempts start again; its trace goes on. What is parked after the
// beginning is not redriven.
func (d *DeadLetters) Redrive(ctx context.Context, workQueue string, match func(DeadLetter) bool) (int, error) {
	n, err := d.take(ctx, workQueue, match, func(ctx context.Context, m Message) error {
		return d.redrive(ctx, workQueue, m)
	})
	if err != nil {
		return n, fmt.Errorf("redrive %s: %w", workQueue, err)
	}
	return n, nil
}

func (d *DeadLetters) redrive(ctx context.Context, workQueue string, m Message) error {
	m = m.copyForRepublish()
	for _, h := range []string{HeaderAttempt, HeaderReason, HeaderService, HeaderTraceID, HeaderParkedAt, HeaderDelivered} {
		delete(m.Headers, h)
	}
	ctx = d.publisher.tracer.propagator.Extract(ctx, headerCarrier(m.Headers))
	if d.Prepare != nil {
		ctx = d.Prepare(ctx)
		delete(m.Headers, "baggage") // it is written anew, unless none is left
	}
	timeout := d.PublishTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return d.publisher.sendCopy(ctx, d.publisher.system.RedeliverExchange(), RedriveKey(workQueue), m)
}

// Drop removes the parked messages of a work queue that match, for good, and
// returns how many.
func (d *DeadLetters) Drop(ctx context.Context, workQueue string, match func(DeadLetter) bool) (int, error) {
	n, err := d.take(ctx, workQueue, match, func(context.Context, Message) error { return nil })
	if err != nil {
		return n, fmt.Errorf("drop from %s: %w", workQueue, err)
	}
	return n, nil
}

// take removes the messages that match once handle has succeeded, and returns
// for how many it did.
func (d *DeadLetters) take(
	ctx context.Context, workQueue string, match func(DeadLetter) bool, handle func(context.Context, Message) error,
) (n int, err error) {
	err = d.browse(ctx, workQueue, func(ctx context.Context, m Message) (bool, error) {
		l := newDeadLetter(workQueue, m)
		if !match(l) {
			return false, nil
		}
		if d.Before != nil {
			if err := d.Before(ctx, l); err != nil {
				return false, err
			}
		}
		if err := handle(ctx, m); err != nil {
			return false, err
		}
		n++
		return true, nil
	})
	return n, err
}

// DeadLetter is one parked message.
type DeadLetter struct {
	Queue    string // the work queue that failed
	Event    string
	Key      string // of the event; "" if the message does not say
	Reason   string
	Service  string // the service that parked it; "" if the broker did
	Attempts int
	TraceID  string
	ParkedAt time.Time // zero if unknown
	Message  Message
}

func newDeadLetter(workQueue string, m Message) DeadLetter {
	event := workQueue[strings.LastIndexByte(workQueue, '.')+1:]
	l := DeadLetter{
		Queue: workQueue, Event: event, Key: m.CorrelationID, Message: m, Attempts: m.Attempt(),
		Reason: m.Header(HeaderReason), Service: m.Header(HeaderService), TraceID: m.Header(HeaderTraceID),
	}
	if id, ok := strings.CutSuffix(m.ID, "."+event); ok && l.Key == "" {
		l.Key = id
	}
	if parent := strings.Split(m.Header("traceparent"), "-"); l.TraceID == "" && len(parent) >= 4 {
		l.TraceID = parent[1]
	}
	if at, err := time.Parse(time.RFC3339, m.Header(HeaderParkedAt)); err == nil {
		l.ParkedAt = at
	}
	if l.Reason == "" {
		l.Reason, l.ParkedAt = brokerReason(m)
	}
	return l
}

// brokerReason is why and when the broker itself parked a message, which
// carries nothing but its x-death header.
func brokerReason(m Message) (string, time.Time) {
	deaths, _ := m.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		return "unknown", time.Time{}
	}
	death, _ := deaths[0].(map[string]any)
	at, _ := death["time"].(time.Time)
	return fmt.Sprintf("parked by the broker: %v", death["reason"]), at
}
