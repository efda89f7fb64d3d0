package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logs is a buffer that bears concurrent use, and says when it was written to.
type logs struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	written chan struct{}
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		select {
		case l.written <- struct{}{}:
		default:
		}
	}
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func newTelemetry(t testing.TB, o Options) *Telemetry {
	t.Helper()
	if o.Service == "" {
		o.Service = "booking"
	}
	if o.Getenv == nil {
		o.Getenv = env()
	}
	if o.LogOutput == nil {
		o.LogOutput = &logs{}
	}
	o.LogLevel = slog.LevelDebug
	tel, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // the tests that care have shut down already
		_ = tel.Shutdown(ctx)
	})
	return tel
}
