package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// errorLog is where OpenTelemetry's own complaints go, such as that of a baggage
// header that is too long. Clients can cause as many as they like, so that it
// says one at most every complainEvery, and how many it kept to itself.
type errorLog struct {
	log *slog.Logger

	mu         sync.Mutex
	complained time.Time
	unsaid     int
}

// handleErrors is the one thing here that is global. OpenTelemetry has no other
// handler: its propagators and its SDK give errors to this one, which by default
// writes lines that are neither text nor JSON of ours. Of several services in a
// process the last one logs them.
func handleErrors(log *slog.Logger) { otel.SetErrorHandler(&errorLog{log: log}) }

// Handle implements [otel.ErrorHandler].
func (e *errorLog) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.complained) < complainEvery {
		e.unsaid++
		return
	}
	var more []any
	if e.unsaid > 0 {
		more = []any{"unsaid", e.unsaid}
	}
	e.log.Warn("OpenTelemetry: "+err.Error(), more...)
	e.complained, e.unsaid = time.Now(), 0
}
