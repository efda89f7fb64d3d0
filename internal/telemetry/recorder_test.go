package telemetry

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

func TestRecorderIsShared(t *testing.T) {
	recorder := NewRecorder(0)
	seats := newTelemetry(t, Options{Service: "seats", Recorder: recorder, Getenv: env("OTEL_TRACES_SAMPLER", "always_off")})
	booking := newTelemetry(t, Options{Service: "booking", Recorder: recorder})
	ctx, root := booking.TracerProvider.Tracer("").Start(context.Background(), "root", trace.WithSpanKind(trace.SpanKindServer))
	_, child := seats.TracerProvider.Tracer("").Start(ctx, "child", trace.WithAttributes(attribute.Int("n", 1)))
	child.AddEvent("fault", trace.WithAttributes(attribute.String("action", "fail")))
	child.SetStatus(codes.Error, "no")
	child.End()
	root.End()
	if err := seats.Shutdown(context.Background()); err != nil { // one provider's end is not the recorder's
		t.Fatal(err)
	}
	spans := recorder.Trace(root.SpanContext().TraceID().String())
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	r, c := spans[0], spans[1]
	if r.Name != "root" || r.Service != "booking" || r.Kind != "server" || r.ParentID != "" || r.Error != "" {
		t.Errorf("root %+v", r)
	}
	if c.Service != "seats" || c.ParentID != r.ID || c.TraceID != r.TraceID || c.Attributes["n"] != int64(1) || c.Error != "no" ||
		len(c.Events) != 1 || c.Events[0].Attributes["action"] != "fail" || c.Duration() < 0 {
		t.Errorf("child %+v", c)
	}
}

func TestRecorderKeepsTheLatest(t *testing.T) {
	recorder := NewRecorder(2)
	tracer := newTelemetry(t, Options{Recorder: recorder}).TracerProvider.Tracer("")
	var ids []string
	for range 5 {
		ctx, s := tracer.Start(context.Background(), "x")
		_, again := tracer.Start(ctx, "y")
		s.End()
		again.End()
		ids = append(ids, s.SpanContext().TraceID().String())
	}
	for i, id := range ids {
		want := 0
		if i >= 3 {
			want = 2
		}
		if got := len(recorder.Trace(id)); got != want {
			t.Errorf("trace %d: %d spans, want %d", i, got, want)
		}
	}
	if n := len(recorder.traces.spans); n != 2 {
		t.Errorf("%d traces in memory", n)
	}
	ctx, s := tracer.Start(context.Background(), "endless")
	for range maxSpansPerTrace + 10 {
		_, child := tracer.Start(ctx, "x")
		child.End()
	}
	if got := len(recorder.Trace(s.SpanContext().TraceID().String())); got != maxSpansPerTrace {
		t.Errorf("%d spans of one trace", got)
	}
	if spans := recorder.Trace("nonsense"); len(spans) != 0 {
		t.Errorf("%v", spans)
	}
}

// Who asks again and again, or is refused, pushes out no booking.
func TestRecorderKeepsBookingsAmongRequests(t *testing.T) {
	recorder := NewRecorder(20)
	tracer := newTelemetry(t, Options{Recorder: recorder}).TracerProvider.Tracer("")
	request := func(ctx context.Context, method string, status int) (context.Context, string) {
		ctx, s := tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			semconv.HTTPRequestMethodKey.String(method), semconv.HTTPResponseStatusCode(status)))
		s.End()
		return ctx, s.SpanContext().TraceID().String()
	}
	follow := func(ctx context.Context) {
		_, s := tracer.Start(ctx, "publish")
		s.End()
	}
	booked, booking := request(t.Context(), "POST", 202)
	follow(booked)
	_, accepted := request(t.Context(), "POST", 202) // waits behind the door
	unsure, doubtful := request(t.Context(), "POST", 503)
	follow(unsure) // its row was committed after all
	_, asked := request(t.Context(), "GET", 200)
	for range 50 {
		request(t.Context(), "GET", 200)
		request(t.Context(), "POST", 429)
	}
	_, last := request(t.Context(), "GET", 404)
	request(booked, "GET", 200) // goes on with the booking's trace
	for name, c := range map[string]struct {
		id   string
		want int
	}{"booking": {booking, 3}, "accepted": {accepted, 1}, "doubtful": {doubtful, 2}, "old request": {asked, 0}, "last request": {last, 1}} {
		if got := len(recorder.Trace(c.id)); got != c.want {
			t.Errorf("%s: %d spans, want %d", name, got, c.want)
		}
	}
	if n := len(recorder.lone.spans); n != 2 {
		t.Errorf("%d lone requests in memory", n)
	}
}

func TestRecorderWait(t *testing.T) {
	recorder := NewRecorder(0)
	tracer := newTelemetry(t, Options{Recorder: recorder}).TracerProvider.Tracer("")
	ctx, root := tracer.Start(context.Background(), "root")
	id := root.SpanContext().TraceID().String()
	looked := make(chan int, 10)
	done := make(chan error, 1)
	go func() {
		done <- recorder.Wait(context.Background(), id, func(spans []Span) bool {
			looked <- len(spans)
			return len(spans) == 2
		})
	}()
	for want := range 3 {
		if got := <-looked; got != want {
			t.Fatalf("looked at %d spans, want %d", got, want)
		}
		_, s := tracer.Start(ctx, "child")
		s.End()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := recorder.Wait(canceled, id, func([]Span) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("returned %v", err)
	}
}
