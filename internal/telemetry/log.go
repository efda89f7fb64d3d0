package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"go.opentelemetry.io/otel/trace"
)

func newLogger(o Options) (*slog.Logger, error) {
	switch o.LogFormat {
	case "json":
		handler := slog.NewJSONHandler(o.LogOutput, &slog.HandlerOptions{Level: o.LogLevel, ReplaceAttr: readable})
		logger := slog.New(&tracedHandler{Handler: handler}).With("service", o.Service)
		if o.Instance != "" {
			logger = logger.With("instance", o.Instance)
		}
		return logger, nil
	case "text", "":
		handler := tint.NewTextHandler(o.LogOutput, &tint.Options{
			Level:      o.LogLevel,
			TimeFormat: "15:04:05.000",
			NoColor:    o.Getenv("NO_COLOR") != "" || !isTerminal(o.LogOutput),
		})
		prefix := ""
		if o.Shared {
			prefix = fmt.Sprintf("%-8s ", o.Service)
		}
		return slog.New(&tracedHandler{Handler: handler, prefix: prefix}), nil
	}
	return nil, fmt.Errorf("log format %q is not known; use text or json", o.LogFormat)
}

// readable writes durations as text does: "5s", and not 5000000000 of nobody
// knows what.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// tracedHandler adds the trace id of the context to each record, and a prefix
// to its message.
type tracedHandler struct {
	slog.Handler
	prefix string
}

func (h *tracedHandler) Handle(ctx context.Context, r slog.Record) error {
	span := trace.SpanContextFromContext(ctx)
	if span.HasTraceID() || h.prefix != "" {
		r = r.Clone()
		r.Message = h.prefix + r.Message
	}
	if span.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h *tracedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &tracedHandler{Handler: h.Handler.WithAttrs(attrs), prefix: h.prefix}
}

func (h *tracedHandler) WithGroup(name string) slog.Handler {
	return &tracedHandler{Handler: h.Handler.WithGroup(name), prefix: h.prefix}
}
