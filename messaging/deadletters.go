package messaging

import (
	"context"
	"fmt"
	"time"
)

// DeadLetters looks at parked messages and sends them back to the queue that
// failed. It is safe to run twice at once: a message that one run holds is not
// seen by the other.
type DeadLetters struct {
	broker    Broker
	publisher *Publisher
}

// NewDeadLetters makes a DeadLetters; its redrives appear in the traces under service.
func NewDeadLetters(b Broker, service string, i Instruments) *DeadLetters {
	return &DeadLetters{broker: b, publisher: NewPublisher(b, service, i)}
}

// DeadLetter is one parked message.
type DeadLetter struct {
	Queue    string // the work queue that failed
	Reason   string
	Service  string // the service that parked it; "" if the broker did
	Attempts int
	TraceID  string
	ParkedAt time.Time // zero if unknown
	Message  Message
}

// WorkQueues are the names of the queues whose messages may be parked.
func WorkQueues() []string {
	var names []string
	for _, r := range routes() {
		names = append(names, QueueName(r.service, r.event))
	}
	return names
}

// List shows the parked messages of a work queue, oldest first; all stay parked.
func (d *DeadLetters) List(ctx context.Context, workQueue string, visit func(DeadLetter) error) error {
	return d.broker.Browse(ctx, DeadQueueName(workQueue), func(_ context.Context, m Message) (bool, error) {
		return false, visit(newDeadLetter(workQueue, m))
	})
}

// Redrive sends the parked messages of a work queue that match back to that
// queue, and to no other, and returns how many. Each is confirmed there before
// it is removed here, so that a crash between may deliver one twice but loses
// none. Its attempts start again; its trace goes on.
func (d *DeadLetters) Redrive(ctx context.Context, workQueue string, match func(DeadLetter) bool) (int, error) {
	n := 0
	err := d.broker.Browse(ctx, DeadQueueName(workQueue), func(ctx context.Context, m Message) (bool, error) {
		if !match(newDeadLetter(workQueue, m)) {
			return false, nil
		}
		copied := m.copyForRepublish()
		for _, h := range []string{HeaderAttempt, HeaderReason, HeaderService, HeaderTraceID, HeaderParkedAt} {
			delete(copied.Headers, h)
		}
		ctx = d.publisher.tracer.propagator.Extract(ctx, headerCarrier(copied.Headers))
		if err := d.publisher.send(ctx, ExchangeRedeliver, RedriveKey(workQueue), copied); err != nil {
			return false, err
		}
		n++
		return true, nil
	})
	if err != nil {
		return n, fmt.Errorf("redrive %s: %w", workQueue, err)
	}
	return n, nil
}

// Drop removes the parked messages of a work queue that match, for good, and
// returns how many.
func (d *DeadLetters) Drop(ctx context.Context, workQueue string, match func(DeadLetter) bool) (int, error) {
	n := 0
	err := d.broker.Browse(ctx, DeadQueueName(workQueue), func(_ context.Context, m Message) (bool, error) {
		if !match(newDeadLetter(workQueue, m)) {
			return false, nil
		}
		n++
		return true, nil
	})
	if err != nil {
		return n, fmt.Errorf("drop from %s: %w", workQueue, err)
	}
	return n, nil
}

func newDeadLetter(workQueue string, m Message) DeadLetter {
	l := DeadLetter{
		Queue: workQueue, Message: m, Attempts: m.Attempt(),
		Reason: m.Header(HeaderReason), Service: m.Header(HeaderService), TraceID: m.Header(HeaderTraceID),
	}
	if at, err := time.Parse(time.RFC3339, m.Header(HeaderParkedAt)); err == nil {
		l.ParkedAt = at
	}
	if l.Reason == "" {
		l.Reason = brokerReason(m)
	}
	return l
}

// brokerReason is why the broker itself parked a message, which carries nothing
// but its x-death header.
func brokerReason(m Message) string {
	deaths, _ := m.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		return "unknown"
	}
	death, _ := deaths[0].(map[string]any)
	return fmt.Sprintf("parked by the broker: %v", death["reason"])
}
