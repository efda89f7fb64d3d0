package messagingtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"boxoffice/messaging"
)

// Publisher returns the publisher of a service of the shop.
func Publisher(tb testing.TB, b messaging.Broker, service string, i messaging.Instruments, retryDelays ...time.Duration) *messaging.Publisher {
	tb.Helper()
	s := Shop()
	s.RetryDelays = retryDelays
	p, err := messaging.NewPublisher(b, s, service, i)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Anybody returns a publisher of every event of the shop, for tests that speak
// for its services.
func Anybody(tb testing.TB, b messaging.Broker) *messaging.Publisher {
	tb.Helper()
	s := Shop()
	s.Services = append(s.Services, messaging.Service{Name: "anybody", Routes: messaging.Routes{Publishes: s.Events()}})
	p, err := messaging.NewPublisher(b, s, "anybody", messaging.Instruments{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Consumer returns the consumer of a service of the shop. Events that no handler
// is for are ignored.
func Consumer(tb testing.TB, b messaging.Broker, service string, cfg messaging.ConsumerConfig, i messaging.Instruments,
	retryDelays []time.Duration, handlers ...messaging.Handler,
) *messaging.Consumer {
	tb.Helper()
	p := Publisher(tb, b, service, i, retryDelays...)
	for _, v := range Shop().Services {
		if v.Name == service {
			handlers = append(handlers, ignoring(v.Consumes, handlers)...)
		}
	}
	c, err := messaging.NewConsumer(b, p, cfg, i, handlers...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func ignoring(events []string, but []messaging.Handler) (more []messaging.Handler) {
	for _, h := range []messaging.Handler{
		messaging.On(ignore[OrderPlaced]), messaging.On(ignore[ItemReserved]), messaging.On(ignore[ItemRefused]),
		messaging.On(ignore[ItemReturned]), messaging.On(ignore[PaymentTaken]), messaging.On(ignore[PaymentRefused]),
	} {
		is := func(other messaging.Handler) bool { return other.Event() == h.Event() }
		if slices.Contains(events, h.Event()) && !slices.ContainsFunc(but, is) {
			more = append(more, h)
		}
	}
	return more
}

func ignore[E messaging.Event](context.Context, E) ([]messaging.Event, error) { return nil, nil }
