package lab

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/messaging"
)

// flushLimit is how long the last traces may hold up the end of a process.
const flushLimit = time.Second

// die loses the delivery by itself or with its process. Until the process has
// ended the delivery stays in the hands of this goroutine, unsettled: losing the
// channel first would bring it back to a process that still works.
func (f Faults) die(ctx context.Context, a Action, s messaging.Settler) {
	if a == Exit && f.Exit != nil {
		span := trace.SpanFromContext(ctx) // messaging ends it, where the process goes on
		span.RecordError(messaging.ErrUnsettled)
		span.SetStatus(codes.Error, messaging.ErrUnsettled.Error())
		span.End()
		f.flush(ctx)
		f.Exit()
	}
	s.Lose()
}

// flush waits for Flush, but no longer than its limit, whatever Flush does.
func (f Faults) flush(ctx context.Context) {
	if f.Flush == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
	defer cancel()
	flushed := make(chan error, 1)
	go func() { flushed <- f.Flush(ctx) }() // one that ignores ctx ends with the process
	var err error
	select {
	case err = <-flushed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		f.Log.WarnContext(ctx, "the last traces were lost", "error", err)
	}
}
