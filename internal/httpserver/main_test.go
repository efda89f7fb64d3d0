package httpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logs is a buffer that bears concurrent use.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newTelemetry(t *testing.T, out io.Writer) (*telemetry.Telemetry, *telemetry.Recorder) {
	t.Helper()
	recorder := telemetry.NewRecorder(0)
	tel, err := telemetry.New(context.Background(), telemetry.Options{
		Service: "test", LogLevel: slog.LevelDebug, LogFormat: "json", LogOutput: out, Recorder: recorder,
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel, recorder
}

// do sends one request to h and returns its response and body.
func do(h http.Handler, r *http.Request) (*http.Response, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func problem(t *testing.T, r *http.Response, body string, status int) httpserver.Problem {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", r.StatusCode, status, body)
	}
	if got := r.Header.Get("Content-Type"); got != httpserver.MediaTypeProblem {
		t.Errorf("content type %q", got)
	}
	var p httpserver.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if p.Status != status || p.Title == "" || p.Type == "" {
		t.Errorf("incomplete problem: %s", body)
	}
	return p
}
