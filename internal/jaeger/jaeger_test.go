package jaeger

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"boxoffice/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const traceID = "2be7a0c2f1d94e6c8a35b0c9d4e1f702"

// fake answers as Jaeger does, from a file or with the text itself.
func fake(t *testing.T, status int, answer string) *Client {
	t.Helper()
	body, err := os.ReadFile("testdata/" + answer)
	if err != nil {
		body = []byte(answer)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/jaeger/api/traces/"+traceID {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL + "/jaeger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestTrace(t *testing.T) {
	spans, err := fake(t, http.StatusOK, "cancelled.json").Trace(t.Context(), traceID)
	if err != nil {
		t.Fatal(err)
	}
	want := `
POST /bookings                                                    booking    +0.00 ms   2.9 ms
└─ publish tickets.events BookingCreated                          booking     +3.0 ms   1.2 ms
   └─ process seats.BookingCreated                                seats       +5.0 ms   4.0 ms  ✗ injected by the fault script: seats.BookingCreated=fail, attempt 1
      └─ publish tickets.retry 1000ms.seats.BookingCreated        seats       +5.5 ms   1.0 ms
         └─ process seats.BookingCreated                          seats      +1010 ms   5.0 ms
            └─ publish tickets.events SeatReserved                seats      +1013 ms   1.5 ms
               └─ process payments.SeatReserved                   payments   +1015 ms   206 ms
                  └─ publish tickets.events PaymentFailed         payments   +1219 ms   1.5 ms
                     ├─ process booking.PaymentFailed             booking    +1221 ms   3.0 ms
                     └─ process seats.PaymentFailed               seats      +1222 ms   4.0 ms
                        └─ publish tickets.events SeatReleased    seats      +1223 ms   1.2 ms
                           └─ process booking.SeatReleased        booking    +1225 ms   2.0 ms
`
	tree := telemetry.Tree(spans)
	if got, want := strings.Join(strings.Fields(tree), " "), strings.Join(strings.Fields(want), " "); got != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
}

func TestSpanHasEverything(t *testing.T) {
	spans, err := fake(t, http.StatusOK, "cancelled.json").Trace(t.Context(), traceID)
	if err != nil {
		t.Fatal(err)
	}
	at := func(micros int) time.Time { return time.Unix(1764464400, int64(micros)*1000).UTC() }
	want := telemetry.Span{
		TraceID: traceID, ID: "1111111111111103", ParentID: "1111111111111102",
		Name: "process seats.BookingCreated", Service: "seats", Kind: "consumer", Start: at(5000), End: at(9000),
		Attributes: map[string]any{"messaging.system": "rabbitmq", "boxoffice.queue": "seats.BookingCreated", "boxoffice.attempt": int64(1)},
		Events: []telemetry.SpanEvent{
			{Name: "fault injected", Time: at(5100), Attributes: map[string]any{"fault": "seats.BookingCreated=fail"}},
			{Name: "exception", Time: at(5200), Attributes: map[string]any{
				"exception.type": "*fmt.wrapError", "exception.message": "injected by the fault script: seats.BookingCreated=fail, attempt 1",
			}},
		},
		Error: "injected by the fault script: seats.BookingCreated=fail, attempt 1",
	}
	if !reflect.DeepEqual(spans[2], want) {
		t.Errorf("got  %+v\nwant %+v", spans[2], want)
	}
	if root := spans[0]; root.ParentID != "" || root.Kind != "server" || root.Attributes["http.response.status_code"] != int64(202) {
		t.Errorf("the root is %+v", root)
	}
	if ratio := spans[4].Attributes["boxoffice.ratio"]; ratio != 0.5 {
		t.Errorf("a float is read as %v", ratio)
	}
}

// Version 1 before 1.20 names the parent, and writes every value as a string.
func TestOldVersions(t *testing.T) {
	spans, err := fake(t, http.StatusOK, `{"data":[{"spans":[{"traceID":"t","spanID":"b","parentSpanID":"a","tags":[
		{"key":"error","type":"bool","value":"true"},{"key":"n","type":"int64","value":"7"},
		{"key":"x","type":"float64","value":"no number"}]}]}]}`).Trace(t.Context(), traceID)
	if err != nil {
		t.Fatal(err)
	}
	s := spans[0]
	if s.ParentID != "a" || s.Error != "failed" || s.Kind != "internal" || s.Service != "" ||
		!reflect.DeepEqual(s.Attributes, map[string]any{"n": int64(7), "x": "no number"}) {
		t.Errorf("got %+v", s)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		status int
		answer string
		is     error
		says   string
	}{
		{http.StatusNotFound, "notfound.json", ErrNoTrace, "no such trace"},
		{http.StatusOK, `{"data":[]}`, ErrNoTrace, "no such trace"},
		{http.StatusOK, "<!doctype html>", nil, "not as Jaeger does"},
		{http.StatusNotFound, "404 page not found", nil, "404 Not Found, and not as Jaeger does"},
		{http.StatusInternalServerError, `{"data":null,"errors":[{"code":500,"msg":"storage is down"}]}`, nil, "500 Internal Server Error: storage is down"},
		{http.StatusOK, `{"data":null,"errors":[{"code":0,"msg":"some of it"}]}`, nil, "200 OK: some of it"},
	} {
		_, err := fake(t, test.status, test.answer).Trace(t.Context(), traceID)
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%d %s: %v", test.status, test.answer, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	c, err := New("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Trace(t.Context(), traceID); !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "Jaeger at http://127.0.0.1:1 cannot be reached: ") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Trace(ctx, traceID); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"localhost:16686", "ftp://x", "::"} {
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), "not the URL of Jaeger") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
