package messaging

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A system may have headers of its own that travel from a delivery to every
// event, retry and redrive that follows from it: see [System.Carry]. The
// handler finds them in its context, and whoever begins a saga puts them there.

type carriedKey struct{}

// WithHeader returns a context whose events carry a header, if the system has it
// in its Carry. An empty value removes it.
func WithHeader(ctx context.Context, name, value string) context.Context {
	headers := maps.Clone(carriedBy(ctx))
	if headers == nil {
		headers = make(map[string]string, 1)
	}
	headers[name] = value
	if value == "" {
		delete(headers, name)
	}
	return context.WithValue(ctx, carriedKey{}, headers)
}

// CarriedHeader returns a header that travels with the work of ctx; "" if it has
// none of that name.
func CarriedHeader(ctx context.Context, name string) string { return carriedBy(ctx)[name] }

func carriedBy(ctx context.Context) map[string]string {
	headers, _ := ctx.Value(carriedKey{}).(map[string]string)
	return headers
}

// carried returns the headers of a new event: those of ctx that the system carries.
func (p *Publisher) carried(ctx context.Context) map[string]any {
	if len(p.system.Carry) == 0 {
		return nil
	}
	headers := make(map[string]any, len(p.system.Carry)+3)
	for name, value := range carriedBy(ctx) {
		if slices.Contains(p.system.Carry, name) {
			headers[name] = value
		}
	}
	return headers
}

// carry returns the context in which the delivery's event is handled.
func (s System) carry(ctx context.Context, m Message) context.Context {
	var headers map[string]string
	for _, name := range s.Carry {
		if value := m.Header(name); value != "" {
			if headers == nil {
				headers = make(map[string]string, len(s.Carry))
			}
			headers[name] = value
		}
	}
	if headers == nil {
		return ctx
	}
	return context.WithValue(ctx, carriedKey{}, headers)
}

// reservedHeader reports whether a header has a meaning of its own.
func reservedHeader(name string) bool {
	switch name = strings.ToLower(name); name {
	case "", "traceparent", "tracestate", "baggage",
		HeaderAttempt, HeaderReason, HeaderService, HeaderTraceID, HeaderParkedAt, HeaderDelivered:
		return true
	}
	return brokerHeader(name)
}
