package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// idProvider is the TracerProvider of a service that neither exports nor
// records. Its spans have ids of their own, continue the trace they are in, and
// hold nothing else. (The SDK without a span processor still collects names,
// attributes and events for nobody, see the benchmark.)
type idProvider struct{ embedded.TracerProvider }

func (p *idProvider) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return &idTracer{provider: p}
}

type idTracer struct {
	embedded.Tracer
	provider *idProvider
}

type idSpan struct {
	noop.Span
	context  trace.SpanContext
	provider *idProvider
}

func (s *idSpan) SpanContext() trace.SpanContext       { return s.context }
func (s *idSpan) TracerProvider() trace.TracerProvider { return s.provider }

func (t *idTracer) Start(ctx context.Context, _ string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	parent := trace.SpanContextFromContext(ctx)
	if len(options) > 0 && parent.IsValid() {
		if config := trace.NewSpanStartConfig(options...); config.NewRoot() {
			parent = trace.SpanContext{}
		}
	}
	// A root is marked as sampled, as the SDK's default sampler does: another
	// service of this trace may well export it.
	next := trace.SpanContextConfig{TraceID: parent.TraceID(), TraceFlags: parent.TraceFlags(), TraceState: parent.TraceState()}
	if !parent.TraceID().IsValid() {
		next.TraceFlags = trace.FlagsSampled
		binary.NativeEndian.PutUint64(next.TraceID[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(next.TraceID[8:], 1+rand.Uint64N(1<<63)) // 0 is no id
	}
	binary.NativeEndian.PutUint64(next.SpanID[:], 1+rand.Uint64N(1<<63))
	span := &idSpan{context: trace.NewSpanContext(next), provider: t.provider}
	return trace.ContextWithSpan(ctx, span), span
}
