package messagingtest

import (
	"time"

	"boxoffice/messaging"
)

func waiting() []clause {
	return []clause{
		{"a copy waits out its delay, then returns to the queue that failed", "", copyReturnsToItsQueue},
		{"a long wait holds up neither a shorter one nor the work", "", waitsDoNotBlock},
		{"every copy returns, once", "", everyCopyReturns},
		{"waiting survives an outage", Outage, waitingSurvivesOutage},
	}
}

// clockError is how much earlier than its delay a broker's clock may be.
const clockError = 2 * time.Millisecond

func copyReturnsToItsQueue(f *fixture) {
	b := f.declared("publisher")
	for _, delay := range []time.Duration{shortDelay, longDelay} {
		m := message("copy")
		m.Headers = map[string]any{messaging.HeaderAttempt: int64(2)}
		sent := time.Now()
		f.publish(b, Shop().RetryExchange(), messaging.RetryKey(delay, stockQueue), m)
		d := f.next(stockQueue)
		if waited := time.Since(sent); waited < delay-clockError {
			f.Errorf("it came after %v, want %v", waited, delay)
		}
		if d.ID != "copy" || d.Attempt() != 2 || string(d.Body) != "body of copy" {
			f.Errorf("it came as %+v", d.Message)
		}
		death := latestDeath(f, d.Message)
		if death["reason"] != "expired" || death["queue"] != Shop().WaitQueue(Stock, delay) {
			f.Errorf("x-death says %v", death)
		}
		f.expectContents(b, ordersQueue) // its sibling saw nothing of it
	}
	f.expectContents(b, stockQueue)
}

func waitsDoNotBlock(f *fixture) {
	b := f.declared("publisher")
	held := ids("held", 40)
	for _, id := range held { // more than a broker's dead-lettering holds at once
		f.publish(b, Shop().RetryExchange(), messaging.RetryKey(noDelayEnd, stockQueue), message(id))
	}
	f.publish(b, Shop().RetryExchange(), messaging.RetryKey(shortDelay, stockQueue), message("short"))
	f.publish(b, Shop().RetryExchange(), messaging.RetryKey(shortDelay, ordersQueue), message("another service"))
	if d := f.next(stockQueue); d.ID != "short" {
		f.Errorf("got %s", d.ID)
	}
	if d := f.next(ordersQueue); d.ID != "another service" {
		f.Errorf("got %s", d.ID)
	}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("fresh"))
	if d := f.next(stockQueue); d.ID != "fresh" {
		f.Errorf("got %s", d.ID)
	}
	f.expectContents(b, Shop().WaitQueue(Stock, noDelayEnd), held...)
}

func everyCopyReturns(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 100)
	for _, id := range sent {
		f.publish(b, Shop().RetryExchange(), messaging.RetryKey(shortDelay, stockQueue), message(id))
	}
	for id, n := range f.drain(stockQueue, sent) {
		if n != 1 {
			f.Errorf("%s came %d times", id, n)
		}
	}
	f.expectContents(b, Shop().WaitQueue(Stock, shortDelay))
}

func waitingSurvivesOutage(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 20)
	for _, id := range sent {
		f.publish(b, Shop().RetryExchange(), messaging.RetryKey(longDelay, stockQueue), message(id))
	}
	f.env.Outage(f.T)()
	f.drain(stockQueue, sent)
}
