package telemetry

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// What OpenTelemetry itself complains about is a line of our log.
func TestErrorsOfOpenTelemetryAreLogged(t *testing.T) {
	out := &logs{}
	tel := newTelemetry(t, Options{LogOutput: out, LogFormat: "json"})
	stranger := http.Header{"Baggage": {"a=" + strings.Repeat("x", 10_000)}}
	for range 100 {
		tel.Propagator.Extract(t.Context(), propagation.HeaderCarrier(stranger))
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil || line["service"] != "booking" || line["level"] != "WARN" {
		t.Errorf("%v, logged %s", err, out)
	}
	newTelemetry(t, Options{LogOutput: out, LogFormat: "json", Service: "seats"}) // of the same process
	otel.Handle(errors.New("a loss"))
	if text := out.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"msg":"OpenTelemetry: a loss","service":"seats"`) {
		t.Errorf("logged %s", text)
	}
}

func TestErrorsOfOpenTelemetryAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &logs{}
		tel := newTelemetry(t, Options{LogOutput: out})
		e := &errorLog{log: tel.Logger}
		for range 5 {
			e.Handle(errors.New("too long"))
		}
		time.Sleep(complainEvery)
		e.Handle(errors.New("too long"))
		if text := out.String(); strings.Count(text, "too long") != 2 || !strings.Contains(text, "unsaid=4") {
			t.Errorf("logged %s", text)
		}
	})
}
