package telemetry

import (
	"context"
	"slices"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	defaultTraces = 1000
	// loneShare is which part of the traces may be a lone request besides: who
	// looks at a booking every second must not push out the bookings.
	loneShare        = 10
	maxSpansPerTrace = 1000 // a booking that is redelivered for ever must not fill the memory
)

// Recorder keeps the finished spans of the latest traces in memory. Services
// in one process share one, so that it holds whole traces. It is safe for
// concurrent use.
type Recorder struct {
	mu      sync.Mutex
	traces  ring
	lone    ring          // traces that are one request so far, which books nothing
	changed chan struct{} // closed at the next span; nil while nobody waits
}

// NewRecorder keeps the latest so many traces; 0 is 1000. Traces of nothing but
// a request that books nothing count apart.
func NewRecorder(traces int) *Recorder {
	if traces <= 0 {
		traces = defaultTraces
	}
	return &Recorder{traces: newRing(traces), lone: newRing(max(traces/loneShare, 1))}
}

// Trace is what was recorded of a trace, in order of start; empty if it is not known.
func (r *Recorder) Trace(id string) []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace(id)
}

// Wait returns nil once enough holds for the spans recorded of a trace. It
// looks again whenever a span ends, until ctx does.
func (r *Recorder) Wait(ctx context.Context, id string, enough func([]Span) bool) error {
	for {
		r.mu.Lock()
		spans := r.trace(id)
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if enough(spans) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *Recorder) trace(id string) []Span {
	key, err := trace.TraceIDFromHex(id)
	if err != nil {
		return nil
	}
	recorded := slices.Concat(r.lone.spans[key], r.traces.spans[key]) // it is in one of them
	spans := make([]Span, len(recorded))
	for i, s := range recorded {
		spans[i] = newSpan(s)
	}
	byStart(spans)
	return spans
}

func (r *Recorder) record(s sdktrace.ReadOnlySpan) {
	id := s.SpanContext().TraceID()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.traces.has(id) && !r.lone.has(id) && booksNothing(s) {
		r.lone.add(id, s)
	} else {
		for _, first := range r.lone.take(id) { // more than one request after all
			r.traces.add(id, first)
		}
		r.traces.add(id, s)
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// recorderProcessor feeds a Recorder. The Recorder outlives any one provider.
type recorderProcessor struct{ recorder *Recorder }

func (recorderProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (p recorderProcessor) OnEnd(s sdktrace.ReadOnlySpan)                 { p.recorder.record(s) }
func (recorderProcessor) Shutdown(context.Context) error                  { return nil }
func (recorderProcessor) ForceFlush(context.Context) error                { return nil }

// recordAll shows the Recorder also the spans that are sampled away.
type recordAll struct{ sdktrace.Sampler }

func (s recordAll) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.Sampler.ShouldSample(p)
	if result.Decision == sdktrace.Drop {
		result.Decision = sdktrace.RecordOnly
	}
	return result
}
