package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func TestIDsWithoutExport(t *testing.T) {
	tel := newTelemetry(t, Options{})
	tracer := tel.TracerProvider.Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	_, child := tracer.Start(ctx, "child")
	_, other := tracer.Start(ctx, "other", trace.WithNewRoot())
	r, c, o := root.SpanContext(), child.SpanContext(), other.SpanContext()
	if !r.IsValid() || !r.IsSampled() || root.IsRecording() {
		t.Errorf("root %+v, recording %v", r, root.IsRecording())
	}
	if c.TraceID() != r.TraceID() || c.SpanID() == r.SpanID() || !c.IsValid() {
		t.Errorf("the child %+v does not continue %+v", c, r)
	}
	if o.TraceID() == r.TraceID() || !o.IsValid() {
		t.Errorf("the new root %+v continues %+v", o, r)
	}
	carrier := propagation.MapCarrier{}
	tel.Propagator.Inject(ctx, carrier)
	if carrier["traceparent"] != "00-"+r.TraceID().String()+"-"+r.SpanID().String()+"-01" {
		t.Errorf("injected %v", carrier)
	}
	unsampled := propagation.MapCarrier{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "tracestate": "a=b"}
	_, s := tracer.Start(tel.Propagator.Extract(context.Background(), unsampled), "continued")
	if sc := s.SpanContext(); sc.IsSampled() || sc.IsRemote() || sc.TraceState().Get("a") != "b" {
		t.Errorf("continued as %+v", sc)
	}
	if _, grandchild := s.TracerProvider().Tracer("").Start(ctx, "x"); grandchild.SpanContext().TraceID() != r.TraceID() {
		t.Error("a span's own provider makes no ids")
	}
}

func TestDisabledSDKExportsNothing(t *testing.T) {
	tel := newTelemetry(t, Options{Getenv: env("OTEL_SDK_DISABLED", "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")})
	if _, ok := tel.TracerProvider.(*idProvider); !ok {
		t.Errorf("the provider is a %T", tel.TracerProvider)
	}
}

// BenchmarkSpan shows what a span costs that nobody looks at.
func BenchmarkSpan(b *testing.B) {
	for _, bench := range []struct {
		name     string
		provider trace.TracerProvider
	}{
		{"ids only", &idProvider{}},
		{"sdk without processor", sdktrace.NewTracerProvider()},
		{"sdk that drops", sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			tracer := bench.provider.Tracer("bench")
			b.ReportAllocs()
			for b.Loop() {
				_, s := tracer.Start(context.Background(), "publish", trace.WithSpanKind(trace.SpanKindProducer))
				if s.IsRecording() {
					s.SetAttributes(attribute.String("messaging.system", "rabbitmq"), attribute.Int("n", 1))
				}
				s.End()
			}
		})
	}
}
