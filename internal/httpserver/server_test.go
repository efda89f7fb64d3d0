package httpserver_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/httpserver"
)

func TestErrorsAreProblems(t *testing.T) {
	out := &logs{}
	tel, _ := newTelemetry(t, out)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.GET("/panic", func(echo.Context) error { panic("secret of the house") })
	e.GET("/fails", func(echo.Context) error { return errors.New("password is hunter2") })
	e.GET("/busy", func(echo.Context) error {
		return &httpserver.Problem{Status: http.StatusTooManyRequests, Detail: "full", RetryAfter: 1200 * time.Millisecond}
	})
	e.GET("/down", func(echo.Context) error {
		return httpserver.Unavailable("The store is down.", 0, errors.New("dial refused"))
	})
	e.POST("/read", func(c echo.Context) error {
		_, err := io.ReadAll(c.Request().Body)
		return err
	})
	chunked := struct{ io.Reader }{strings.NewReader(strings.Repeat("x", httpserver.MaxBody+1))}
	for _, test := range []struct {
		name   string
		req    *http.Request
		status int
		logged string
	}{
		{"no route", httptest.NewRequest(http.MethodGet, "/nowhere", nil), 404, ""},
		{"wrong method", httptest.NewRequest(http.MethodDelete, "/panic", nil), 405, ""},
		{"body says too large", httptest.NewRequest(http.MethodPost, "/read", strings.NewReader(strings.Repeat("x", httpserver.MaxBody+1))), 413, ""},
		{"body is too large", httptest.NewRequest(http.MethodPost, "/read", chunked), 413, ""},
		{"panic", httptest.NewRequest(http.MethodGet, "/panic", nil), 500, "secret of the house"},
		{"error", httptest.NewRequest(http.MethodGet, "/fails", nil), 500, "hunter2"},
		{"refusal", httptest.NewRequest(http.MethodGet, "/busy", nil), 429, ""},
		{"unavailable", httptest.NewRequest(http.MethodGet, "/down", nil), 503, "dial refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(out.String())
			res, body := do(e, test.req)
			p := problem(t, res, body, test.status)
			logged := out.String()[before:]
			if test.logged == "" && logged != "" {
				t.Errorf("logged %s", logged)
			}
			if test.logged != "" && (!strings.Contains(logged, test.logged) || strings.Contains(body, test.logged)) {
				t.Errorf("body %s\nlog %s", body, logged)
			}
			if test.status >= 500 && (p.TraceID == "" || !strings.Contains(logged, p.TraceID)) {
				t.Errorf("trace id %q is not in the log: %s", p.TraceID, logged)
			}
			if test.name == "refusal" && res.Header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q, want 2", res.Header.Get("Retry-After"))
			}
			if test.name == "wrong method" && !strings.Contains(res.Header.Get("Allow"), "GET") {
				t.Errorf("Allow %q", res.Header.Get("Allow"))
			}
		})
	}
}

func TestRequestsAreSpans(t *testing.T) {
	tel, recorder := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.GET("/bookings/:id", func(c echo.Context) error {
		return c.String(http.StatusOK, trace.SpanContextFromContext(c.Request().Context()).TraceID().String())
	})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	req := httptest.NewRequest(http.MethodGet, "/bookings/7", nil)
	req.Header.Set("traceparent", parent)
	_, traceID := do(e, req)
	if want := strings.Split(parent, "-")[1]; traceID != want {
		t.Fatalf("the handler's context is in trace %q, want the caller's %s", traceID, want)
	}
	spans := recorder.Trace(traceID)
	if len(spans) != 1 {
		t.Fatalf("%d spans, want 1", len(spans))
	}
	s := spans[0]
	if s.Name != "GET /bookings/:id" || s.Kind != "server" || s.ParentID != strings.Split(parent, "-")[2] {
		t.Errorf("span %+v", s)
	}
	if s.Attributes["http.route"] != "/bookings/:id" || s.Attributes["http.response.status_code"] != int64(200) {
		t.Errorf("attributes %v", s.Attributes)
	}
	for _, path := range []string{"/live", "/ready", "/metrics"} {
		req := httptest.NewRequest(http.MethodGet, path, nil)
		req.Header.Set("traceparent", parent)
		if res, body := do(e, req); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if n := len(recorder.Trace(traceID)); n != 1 {
		t.Errorf("%d spans, want none for live, ready and metrics", n-1)
	}
	_, metrics := do(e, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(metrics, `http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/bookings/:id"`) ||
		strings.Contains(metrics, "example.com") {
		t.Errorf("metrics:\n%s", metrics)
	}
}

func TestFailedSpanHasTheStatusOfTheAnswer(t *testing.T) {
	tel, recorder := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.GET("/fails", func(echo.Context) error { return errors.New("no") })
	res, body := do(e, httptest.NewRequest(http.MethodGet, "/fails", nil))
	p := problem(t, res, body, 500)
	spans := recorder.Trace(p.TraceID)
	if len(spans) != 1 || spans[0].Attributes["http.response.status_code"] != int64(500) || spans[0].Error == "" {
		t.Errorf("spans %+v", spans)
	}
}
