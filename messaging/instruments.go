package messaging

import (
	"cmp"
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// Instruments is where a [Publisher], a [Consumer] or a [DeadLetters] reports
// to. What is nil is replaced by something that drops everything; a nil
// Propagator still carries W3C trace context and baggage.
type Instruments struct {
	Logger         *slog.Logger
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator
	// Namespace begins the names of metrics and of the attributes that the
	// semantic conventions do not have; "": messaging.
	Namespace string
	// KeyName is what an event's key is called in the log; "": key.
	KeyName string
}

// byEvent is the attribute of a counter, made once for each event: making it
// for each message costs more than counting.
type byEvent map[string]metric.MeasurementOption

func newByEvent(events []string) byEvent {
	by := make(byEvent, len(events))
	for _, e := range events {
		by[e] = metric.WithAttributeSet(attribute.NewSet(attribute.String("event", e)))
	}
	return by
}

// count adds one to a counter, for an event. More labels are for what is rare.
func (by byEvent) count(ctx context.Context, c metric.Int64Counter, event string, labels ...attribute.KeyValue) {
	option, ok := by[event]
	if !ok || len(labels) > 0 {
		option = metric.WithAttributes(append([]attribute.KeyValue{attribute.String("event", event)}, labels...)...)
	}
	c.Add(ctx, 1, option)
}

func (i Instruments) scope() string { return i.Namespace + "/messaging" }

func (i Instruments) counter(name, text string) metric.Int64Counter {
	c, _ := i.MeterProvider.Meter(i.scope()).Int64Counter(i.Namespace+".messages."+name, metric.WithDescription(text)) // fails on a bad name only
	return c
}

func (i Instruments) withDefaults() Instruments {
	if i.Logger == nil {
		i.Logger = slog.New(slog.DiscardHandler)
	}
	if i.TracerProvider == nil {
		i.TracerProvider = nooptrace.NewTracerProvider()
	}
	if i.MeterProvider == nil {
		i.MeterProvider = noop.NewMeterProvider()
	}
	i.Namespace, i.KeyName = cmp.Or(i.Namespace, "messaging"), cmp.Or(i.KeyName, "key")
	if i.Propagator == nil {
		i.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	return i
}
