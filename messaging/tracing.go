package messaging

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// tracer writes the spans of the messaging semantic conventions: a PRODUCER
// span per publish, whose context travels with the message, and a CONSUMER
// span per delivery that continues it.
type tracer struct {
	trace.Tracer
	propagator propagation.TextMapPropagator
	system     attribute.KeyValue
	namespace  string
}

func newTracer(b Broker, i Instruments) tracer {
	return tracer{
		Tracer:     i.TracerProvider.Tracer(i.scope()),
		propagator: i.Propagator,
		system:     semconv.MessagingSystemKey.String(b.System()),
		namespace:  i.Namespace,
	}
}

// startPublish starts the producer span of m and puts its context into m's headers.
func (t tracer) startPublish(ctx context.Context, exchange, key string, m *Message) (context.Context, trace.Span) {
	ctx, span := t.Start(ctx, "publish "+exchange+" "+key, trace.WithSpanKind(trace.SpanKindProducer))
	if span.IsRecording() {
		span.SetAttributes(t.attributes(m, exchange+":"+key, key)...)
		span.SetAttributes(semconv.MessagingOperationName("publish"), semconv.MessagingOperationTypeSend)
	}
	if m.Headers == nil {
		m.Headers = make(map[string]any, 3)
	}
	t.propagator.Inject(ctx, headerCarrier(m.Headers))
	return ctx, span
}

// startProcess starts the consumer span of d as a child of its producer's.
func (t tracer) startProcess(ctx context.Context, d *Delivery) (context.Context, trace.Span) {
	ctx = t.propagator.Extract(ctx, headerCarrier(d.Headers))
	ctx, span := t.Start(ctx, "process "+d.Queue, trace.WithSpanKind(trace.SpanKindConsumer))
	if span.IsRecording() {
		span.SetAttributes(t.attributes(&d.Message, d.Exchange+":"+d.Key+":"+d.Queue, d.Key)...)
		span.SetAttributes(semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
			attribute.String(t.namespace+".queue", d.Queue), attribute.Int(t.namespace+".attempt", d.Attempt()),
			attribute.Int(t.namespace+".delivery_count", d.Delivered()))
	}
	return ctx, span
}

func (t tracer) attributes(m *Message, destination, key string) []attribute.KeyValue {
	return []attribute.KeyValue{
		t.system,
		semconv.MessagingDestinationName(destination),
		semconv.MessagingRabbitMQDestinationRoutingKey(key),
		semconv.MessagingMessageID(m.ID),
		semconv.MessagingMessageConversationID(m.CorrelationID),
		semconv.MessagingMessageBodySize(len(m.Body)),
	}
}

// fail marks the span as failed with err, if there is one.
func fail(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
}

// headerCarrier lets a propagator read and write message headers.
type headerCarrier map[string]any

func (c headerCarrier) Get(key string) string        { return Message{Headers: c}.Header(key) }
func (c headerCarrier) Set(key string, value string) { c[key] = value }

func (c headerCarrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
