package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// complainEvery is how often a failing export is worth a log line.
const complainEvery = time.Minute

func sdkVersion() string { return sdk.Version() }

func newExporter(ctx context.Context, env environment) (sdktrace.SpanExporter, error) {
	if env.protocol == protocolGRPC {
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(env.endpoint))
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(env.endpoint))
}

// hint names the commonest reason why an export fails.
func (e environment) hint() string {
	if !e.protocolSet && strings.Contains(e.endpoint, ":4317") {
		return "port 4317 usually speaks gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
	}
	return ""
}

// quietExporter keeps export errors to itself and the log, with how many spans
// they cost. The SDK would give each to the global error handler.
type quietExporter struct {
	next sdktrace.SpanExporter
	log  *slog.Logger
	hint string
	// abort gives exports up, those in flight and later ones; onAbort is called then.
	abort   context.CancelFunc
	onAbort func(func()) (stop func() bool)

	mu         sync.Mutex
	failing    bool
	complained time.Time
	lost       int
}

func newQuietExporter(ctx context.Context, next sdktrace.SpanExporter, log *slog.Logger, hint string) *quietExporter {
	working, abort := context.WithCancel(context.WithoutCancel(ctx))
	return &quietExporter{
		next: next, log: log, hint: hint, abort: abort,
		onAbort: func(f func()) func() bool { return context.AfterFunc(working, f) },
	}
}

func (e *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := e.onAbort(cancel)
	defer stop()
	e.note(e.next.ExportSpans(ctx, spans), len(spans))
	return nil
}

func (e *quietExporter) Shutdown(ctx context.Context) error {
	defer e.abort()
	return e.next.Shutdown(ctx)
}

func (e *quietExporter) note(err error, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		if e.failing {
			e.log.Info("traces are exported again", "lostSpans", e.lost)
		}
		e.failing, e.lost, e.complained = false, 0, time.Time{}
		return
	}
	e.failing = true
	e.lost += spans
	if time.Since(e.complained) < complainEvery {
		return
	}
	e.complained = time.Now()
	attributes := []any{"error", err, "lostSpans", e.lost}
	if e.hint != "" {
		attributes = append(attributes, "hint", e.hint)
	}
	e.log.Warn("traces cannot be exported", attributes...)
}
