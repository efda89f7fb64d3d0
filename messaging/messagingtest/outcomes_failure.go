package messagingtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"boxoffice/messaging"
)

func failures() []clause {
	return []clause{
		{"an error is retried after each delay, then parked", "", errorIsRetriedThenParked},
		{"a failing message holds up no other", "", failureHoldsUpNobody},
		{"a retry that succeeds leaves nothing behind", "", retryThatSucceeds},
		{"the copy that waits counts the attempt and keeps the rest", "", copyKeepsTheRest},
		{"a copy loses what the broker wrote", "", copyLosesDeaths},
		{"Permanent is parked at once", "", permanentIsParked},
		{"a panic is an error", "", panicIsAnError},
		{"strangers' headers do no harm", "", strangeHeaders},
	}
}

var (
	errBroken = errors.New("the seat is broken")
	deadQueue = messaging.DeadQueue(stockQueue)
)

// expectParked checks the next parked message.
func (f *fixture) expectParked(id, reason string, attempts int) *messaging.Delivery {
	f.Helper()
	d := f.next(deadQueue)
	if d.ID != id {
		f.Errorf("parked %s, want %s", d.ID, id)
	}
	if got := d.Header(messaging.HeaderReason); !strings.Contains(got, reason) {
		f.Errorf("the reason is %q, want %q in it", got, reason)
	}
	if d.Header(messaging.HeaderService) != Stock || d.Attempt() != attempts {
		f.Errorf("parked by %q in attempt %d, want stock in %d", d.Header(messaging.HeaderService), d.Attempt(), attempts)
	}
	if id := d.Header(messaging.HeaderTraceID); len(id) != 32 || !strings.Contains(d.Header("traceparent"), id) {
		f.Errorf("the trace id is %q, traceparent %q", id, d.Header("traceparent"))
	}
	if _, err := time.Parse(time.RFC3339, d.Header(messaging.HeaderParkedAt)); err != nil {
		f.Errorf("parked at: %v", err)
	}
	return d
}

func errorIsRetriedThenParked(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	delays := []time.Duration{shortDelay, longDelay}
	stop := f.serve(service{retryDelays: delays, handle: counted(calls, returns(errBroken))})
	last := receive(f, calls, "the first attempt")
	for i, delay := range delays {
		at := receive(f, calls, "another attempt")
		if waited := at.Sub(last); waited < delay-clockError {
			f.Errorf("attempt %d came after %v, want %v", i+2, waited, delay)
		}
		last = at
	}
	d := f.expectParked(m.ID, errBroken.Error(), 3)
	stop()
	if string(d.Body) != string(m.Body) || d.Type != m.Type || d.AppID != m.AppID || d.CorrelationID != m.CorrelationID {
		f.Errorf("parked %+v, sent %+v", d.Message, m)
	}
	if n := len(calls); n != 0 {
		f.Errorf("there were %d attempts too many", n)
	}
	f.expectQuiet(b)
	f.expectContents(b, ordersQueue, m.ID) // the sibling got the event once, and no retry
}

func failureHoldsUpNobody(f *fixture) {
	b := f.declared("test")
	bad := newIn()
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, bad))
	f.serve(service{retryDelays: []time.Duration{noDelayEnd}, handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		if e.OrderID == bad.OrderID {
			return nil, errBroken
		}
		return []messaging.Event{outOf(e)}, nil
	}})
	for range 20 {
		m := wire(f, newIn())
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
		if d := f.next(outQueue); d.CorrelationID != m.CorrelationID {
			f.Errorf("got the outcome of %s, want %s", d.CorrelationID, m.CorrelationID)
		}
	}
}

func retryThatSucceeds(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", wire(f, newIn()))
	var calls atomic.Int64
	stop := f.serve(service{
		retryDelays: []time.Duration{shortDelay, shortDelay, shortDelay},
		handle: func(_ context.Context, e in) ([]messaging.Event, error) {
			if calls.Add(1) < 3 {
				return nil, errBroken
			}
			return []messaging.Event{outOf(e)}, nil
		},
	})
	f.next(outQueue)
	stop()
	f.expectQuiet(b)
	f.expectContents(b, outQueue)
}

// failOnce lets one delivery fail into the queue where it waits for an hour.
func (f *fixture) failOnce(b messaging.Broker) (copied messaging.Message, queue string) {
	f.Helper()
	calls := make(chan time.Time, 10)
	stop := f.serve(service{retryDelays: []time.Duration{noDelayEnd}, handle: counted(calls, returns(errBroken))})
	receive(f, calls, "the handler")
	stop() // waits for the copy to be confirmed, and the original acknowledged
	queue = Shop().WaitQueue(Stock, noDelayEnd)
	return f.first(b, queue), queue
}

func copyKeepsTheRest(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	m.Headers = map[string]any{"custom": "kept", "number": int64(5), "flag": true, "tracestate": "vendor=1"}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	got, queue := f.failOnce(b)
	if got.Attempt() != 2 || got.ID != m.ID || got.Type != m.Type || got.AppID != m.AppID ||
		got.CorrelationID != m.CorrelationID || got.Timestamp.Unix() != m.Timestamp.Unix() || string(got.Body) != string(m.Body) {
		f.Errorf("waiting %+v in attempt %d, sent %+v", got, got.Attempt(), m)
	}
	expectHeaders(f, got.Headers, map[string]any{"custom": "kept", "number": int64(5), "flag": true})
	f.expectQuiet(b, queue)
}

func copyLosesDeaths(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().RetryExchange(), messaging.RetryKey(shortDelay, stockQueue), wire(f, newIn()))
	got, queue := f.failOnce(b)
	for k := range got.Headers {
		if strings.Contains(k, "death") { // a delivery count may be of this look at it
			f.Errorf("the copy carries %s", k)
		}
	}
	f.expectQuiet(b, queue)
}

func permanentIsParked(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	stop := f.serve(service{retryDelays: []time.Duration{shortDelay}, handle: counted(calls, returns(messaging.Permanent(errBroken)))})
	f.expectParked(m.ID, errBroken.Error(), 1)
	stop()
	if n := len(calls); n != 1 {
		f.Errorf("it was tried %d times", n)
	}
	f.expectQuiet(b)
}

func panicIsAnError(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	stop := f.serve(service{retryDelays: []time.Duration{shortDelay}, handle: counted(calls, func(context.Context, in) ([]messaging.Event, error) {
		panic("a seat on fire")
	})})
	f.expectParked(m.ID, "a seat on fire", 2)
	stop()
	if n := len(calls); n != 2 {
		f.Errorf("it was tried %d times, want 2", n)
	}
	f.expectQuiet(b)
}

func strangeHeaders(f *fixture) {
	b := f.declared("test")
	attempts := []any{"banana", []byte("7 and more"), "", int64(-3), int64(0), int64(1) << 60, 2.5, true, nil, time.Unix(1, 0)}
	for _, attempt := range attempts {
		m := wire(f, newIn())
		m.Headers = map[string]any{
			messaging.HeaderAttempt: attempt, "traceparent": attempt, "tracestate": attempt, "baggage": attempt,
			messaging.HeaderReason: attempt, "x-other": attempt,
		}
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	}
	calls := make(chan time.Time, 100)
	stop := f.serve(service{retryDelays: []time.Duration{shortDelay}, handle: counted(calls, returns(errBroken))})
	for range 2 * len(attempts) { // nonsense is attempt 1, so each gets its two
		receive(f, calls, "two attempts of each message")
	}
	seen := map[string]int{}
	for range attempts {
		d := f.next(deadQueue)
		seen[d.ID]++
		if d.Attempt() != 2 || d.Header(messaging.HeaderReason) != errBroken.Error() {
			f.Errorf("parked in attempt %d with reason %q", d.Attempt(), d.Header(messaging.HeaderReason))
		}
	}
	stop()
	if len(seen) != len(attempts) {
		f.Errorf("%d messages were parked, want %d", len(seen), len(attempts))
	}
	f.expectQuiet(b)
}
