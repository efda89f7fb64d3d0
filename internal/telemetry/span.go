package telemetry

import (
	"cmp"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Span is a finished span as people look at it, wherever it came from.
type Span struct {
	TraceID, ID string
	ParentID    string // "" for a root
	Name        string
	Service     string
	Kind        string // internal, server, client, producer or consumer
	Start, End  time.Time
	Attributes  map[string]any
	Events      []SpanEvent
	Error       string // why it failed; "" if it did not
}

// SpanEvent is something that happened at one moment of a span.
type SpanEvent struct {
	Name       string
	Time       time.Time
	Attributes map[string]any
}

// Duration is how long the span took.
func (s Span) Duration() time.Duration { return s.End.Sub(s.Start) }

func newSpan(s sdktrace.ReadOnlySpan) Span {
	span := Span{
		TraceID:    s.SpanContext().TraceID().String(),
		ID:         s.SpanContext().SpanID().String(),
		Name:       s.Name(),
		Kind:       s.SpanKind().String(),
		Start:      s.StartTime(),
		End:        s.EndTime(),
		Attributes: make(map[string]any, len(s.Attributes())),
	}
	if s.Parent().HasSpanID() {
		span.ParentID = s.Parent().SpanID().String()
	}
	if name, ok := s.Resource().Set().Value(semconv.ServiceNameKey); ok {
		span.Service = name.AsString()
	}
	for _, a := range s.Attributes() {
		span.Attributes[string(a.Key)] = a.Value.AsInterface()
	}
	for _, e := range s.Events() {
		event := SpanEvent{Name: e.Name, Time: e.Time, Attributes: make(map[string]any, len(e.Attributes))}
		for _, a := range e.Attributes {
			event.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
		span.Events = append(span.Events, event)
	}
	if status := s.Status(); status.Code.String() == "Error" {
		span.Error = cmp.Or(status.Description, "failed")
	}
	return span
}

// byStart orders spans as they began.
func byStart(spans []Span) {
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
}
