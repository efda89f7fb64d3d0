package telemetry

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTextLog(t *testing.T) {
	out := &logs{}
	tel := newTelemetry(t, Options{LogOutput: out, Service: "seats", Shared: true})
	ctx, span := tel.TracerProvider.Tracer("").Start(context.Background(), "x")
	tel.Logger.With("seat", 5).InfoContext(ctx, "← BookingCreated", "in", 5*time.Second)
	want := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} INF seats    ← BookingCreated seat=5 in=5s trace_id=` + span.SpanContext().TraceID().String() + "\n$")
	if !want.MatchString(out.String()) {
		t.Errorf("logged %q, want %s", out, want)
	}
	out = &logs{}
	newTelemetry(t, Options{LogOutput: out, Service: "seats"}).Logger.Info("alone")
	if !strings.HasSuffix(out.String(), "INF alone\n") {
		t.Errorf("logged %q", out)
	}
}

func TestJSONLog(t *testing.T) {
	out := &logs{}
	tel := newTelemetry(t, Options{LogOutput: out, LogFormat: "json", Service: "seats", Instance: "s1"})
	ctx, span := tel.TracerProvider.Tracer("").Start(context.Background(), "x")
	tel.Logger.With("grace", time.Minute).WarnContext(ctx, "hello", "seat", 5, "in", 5*time.Second)
	var line map[string]any
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"level": "WARN", "msg": "hello", "service": "seats", "instance": "s1", "seat": 5.0,
		"in": "5s", "grace": "1m0s", // as in text
		"trace_id": span.SpanContext().TraceID().String(),
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
}

func TestUnknownLogFormat(t *testing.T) {
	if _, err := New(context.Background(), Options{LogFormat: "xml", Getenv: env()}); err == nil {
		t.Error("no error")
	}
}
