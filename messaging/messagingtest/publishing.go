package messagingtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"boxoffice/messaging"
)

func publishing() []clause {
	return []clause{
		{"confirmed means stored", "", confirmedIsStored},
		{"confirmed means stored, over an outage too", Outage, confirmedSurvivesOutage},
		{"unroutable is ErrUnroutable, among routable ones too", "", unroutableAmongRoutable},
		{"a missing exchange is an error that loses nothing else", "", missingExchange},
		{"an ended context publishes nothing and is an error", "", endedContext},
		{"one message may be published by many at once", "", messageIsReusable},
	}
}

// publishMany publishes from many goroutines at once and returns the errors by id.
func (f *fixture) publishMany(b messaging.Broker, ids []string, exchange string, key func(i int) string) map[string]error {
	f.Helper()
	var mu sync.Mutex
	errs := make(map[string]error, len(ids))
	var running sync.WaitGroup
	for i, id := range ids {
		running.Go(func() {
			err := b.Publish(f.ctx, exchange, key(i), message(id))
			mu.Lock()
			defer mu.Unlock()
			errs[id] = err
		})
	}
	running.Wait()
	return errs
}

func always(key string) func(int) string { return func(int) string { return key } }

func confirmedIsStored(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 300)
	for id, err := range f.publishMany(b, sent, Shop().EventsExchange(), always("PaymentRefused")) {
		if err != nil {
			f.Fatalf("publish %s: %v", id, err)
		}
	}
	f.close(b) // the consumers have never met the publisher
	for _, queue := range []string{ordersQueue, stockQueue} {
		for id, n := range f.drain(queue, sent) {
			if n != 1 {
				f.Errorf("%s: %s came %d times", queue, id, n)
			}
		}
	}
}

func confirmedSurvivesOutage(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 200)
	for id, err := range f.publishMany(b, sent, Shop().EventsExchange(), always("PaymentRefused")) {
		if err != nil {
			f.Fatalf("publish %s: %v", id, err)
		}
	}
	start := f.env.Outage(f.T)
	start()
	f.drain(ordersQueue, sent)
	f.drain(stockQueue, sent)
}

func unroutableAmongRoutable(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 200)
	key := func(i int) string {
		if i%2 == 1 {
			return fmt.Sprintf("Nobody%d", i)
		}
		return "OrderPlaced"
	}
	errs := f.publishMany(b, sent, Shop().EventsExchange(), key)
	var routable []string
	for i, id := range sent {
		switch {
		case i%2 == 1 && !errors.Is(errs[id], messaging.ErrUnroutable):
			f.Errorf("%s has no queue, but: %v", id, errs[id])
		case i%2 == 0 && errs[id] != nil:
			f.Errorf("%s has a queue, but: %v", id, errs[id])
		case i%2 == 0:
			routable = append(routable, id)
		}
	}
	f.expectContents(b, placedQueue, routable...)
}

func missingExchange(f *fixture) {
	b := f.declared("publisher")
	var running sync.WaitGroup
	sent := ids("m", 50)
	for i, id := range sent {
		running.Go(func() { f.insist(b, message(id)) })
		if i%10 != 0 {
			continue
		}
		running.Go(func() {
			err := b.Publish(f.ctx, "shop.nowhere", "OrderPlaced", message("lost"))
			if err == nil {
				f.Error("a publish to an exchange that does not exist was confirmed")
			}
		})
	}
	running.Wait()
	f.drain(placedQueue, sent)
}

func endedContext(f *fixture) {
	b := f.declared("publisher")
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := b.Publish(ctx, Shop().EventsExchange(), "OrderPlaced", message("never")); err == nil {
		f.Error("a publish whose context had ended was confirmed")
	}
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("later"))
	f.expectContents(b, placedQueue, "later")
}

func messageIsReusable(f *fixture) {
	b := f.declared("publisher")
	m := message("same")
	m.Headers = map[string]any{"k": "v"}
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() { f.insist(b, m) })
	}
	running.Wait()
	want := slices.Repeat([]string{"same"}, 20)
	if got := f.contents(b, placedQueue); !slices.Equal(got, want) {
		f.Errorf("%d copies are stored, want %d", len(got), len(want))
	}
	if len(m.Headers) != 1 {
		f.Errorf("publishing changed the caller's headers: %v", m.Headers)
	}
}
