package telemetry

import (
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	defaultTraces    = 1000
	maxSpansPerTrace = 1000 // a booking that is redelivered for ever must not fill the memory
)

// Recorder keeps the finished spans of the latest traces in memory. Services
// in one process share one, so that it holds whole traces. It is safe for
// concurrent use.
type Recorder struct {
	limit int

	mu      sync.Mutex
	traces  map[trace.TraceID][]sdktrace.ReadOnlySpan
	order   []trace.TraceID // a ring of the keys of traces, oldest at next
	next    int
	changed chan struct{} // closed at the next span; nil while nobody waits
}

// NewRecorder keeps the latest so many traces; 0 is 1000.
func NewRecorder(traces int) *Recorder {
	if traces <= 0 {
		traces = defaultTraces
	}
	return &Recorder{limit: traces, traces: make(map[trace.TraceID][]sdktrace.ReadOnlySpan)}
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
	recorded := r.traces[key]
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
	spans, known := r.traces[id]
	if !known {
		if len(r.order) < r.limit {
			r.order = append(r.order, id)
		} else {
			delete(r.traces, r.order[r.next])
			r.order[r.next] = id
			r.next = (r.next + 1) % r.limit
		}
	}
	if len(spans) < maxSpansPerTrace {
		r.traces[id] = append(spans, s)
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
