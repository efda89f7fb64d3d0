package telemetry

import (
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// ring keeps the spans of the latest traces.
type ring struct {
	limit int
	spans map[trace.TraceID][]sdktrace.ReadOnlySpan
	order []trace.TraceID // as they came, oldest at next; some may have been taken
	next  int
}

func newRing(limit int) ring {
	return ring{limit: limit, spans: make(map[trace.TraceID][]sdktrace.ReadOnlySpan)}
}

func (r *ring) has(id trace.TraceID) bool { return len(r.spans[id]) > 0 }

func (r *ring) add(id trace.TraceID, s sdktrace.ReadOnlySpan) {
	spans := r.spans[id]
	switch {
	case len(spans) > 0:
	case len(r.order) < r.limit:
		r.order = append(r.order, id)
	default:
		delete(r.spans, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % r.limit
	}
	if len(spans) < maxSpansPerTrace {
		r.spans[id] = append(spans, s)
	}
}

// take removes a trace and returns its spans.
func (r *ring) take(id trace.TraceID) []sdktrace.ReadOnlySpan {
	spans := r.spans[id]
	delete(r.spans, id)
	return spans
}

// booksNothing reports whether s is a request that only asks, or was refused.
func booksNothing(s sdktrace.ReadOnlySpan) bool {
	if s.SpanKind() != trace.SpanKindServer {
		return false
	}
	for _, a := range s.Attributes() {
		switch a.Key {
		case semconv.HTTPRequestMethodKey:
			if m := a.Value.AsString(); m == http.MethodGet || m == http.MethodHead {
				return true
			}
		case semconv.HTTPResponseStatusCodeKey:
			if a.Value.AsInt64() >= http.StatusBadRequest {
				return true
			}
		}
	}
	return false
}
