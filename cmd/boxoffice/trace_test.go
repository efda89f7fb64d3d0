package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"boxoffice/internal/client"
)

// firstBooking is the id of the oldest booking.
func firstBooking(t *testing.T, url string) string {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var list struct{ Bookings []client.Booking }
	if err := c.Get(t.Context(), "bookings", &list); err != nil || len(list.Bookings) == 0 {
		t.Fatalf("%v %v", list, err)
	}
	return list.Bookings[0].ID
}

func TestTraceOfUp(t *testing.T) {
	t.Parallel()
	_, url, _ := openUp(t)
	if code, _, errs := boxoffice(t, nil, "book", "--seat=7", "--customer=ivan", "--amount=1500", "--url", url); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := boxoffice(t, nil, "trace", firstBooking(t, url), "--url", url)
	if code != 0 || errs != "" {
		t.Errorf("exit %d, said %s", code, errs)
	}
	expectText(t, sorted(out), "^ivan  seat 7  Cancelled  insufficient funds\ntrace [0-9a-f]{32}\n"+theTree)

	code, _, errs = boxoffice(t, nil, "trace", "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c", "--url", url)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	expectText(t, errs, `^boxoffice: there is no booking "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c" at http://127.0.0.1:\d+\n$`)
	code, _, errs = boxoffice(t, nil, "trace", parkedTrace, "--url", url)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	expectText(t, errs, `^boxoffice: `+parkedTrace+` is a trace id, not a booking's: .*\n$`)
	code, _, errs = boxoffice(t, nil, "trace", "x", "--url", "http://127.0.0.1:1")
	if code != exitFailed || !strings.HasSuffix(errs, "; start the services with: boxoffice up\n") {
		t.Errorf("exit %d, said %s", code, errs)
	}
}

// goldenTrace is the trace in Jaeger's answer.
const goldenTrace = "2be7a0c2f1d94e6c8a35b0c9d4e1f702"

// bookingOf is a booking service with one booking, whose trace is goldenTrace.
func bookingOf(t *testing.T, status string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lab/traces/"+goldenTrace {
			fmt.Fprint(w, `{"spans":[]}`)
			return
		}
		fmt.Fprintf(w, `{"id":"b1","customer":"ivan","seat":7,"status":%q,"seatReleased":true,"traceId":%q}`, status, goldenTrace)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// jaegerOf is a Jaeger that answers its n-th question by answer(n).
func jaegerOf(t *testing.T, answer func(n int64) (status int, body string)) string {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/traces/"+goldenTrace {
			t.Errorf("asked for %s", r.URL)
		}
		status, body := answer(asked.Add(1))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../internal/jaeger/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// firstSpans is an answer of Jaeger with only the first n spans of the trace.
func firstSpans(t *testing.T, text string, n int) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	trace := doc["data"].([]any)[0].(map[string]any)
	trace["spans"] = trace["spans"].([]any)[:n]
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A booking that is not finished has a trace that goes on.
func TestTraceOfAnUnfinishedBooking(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("BANK_DELAY=1h"), "up")
	url := up.url("booking")
	b := postFaulty(t, url, `{"seat":5,"customer":"olena","amount":450}`, "")
	up.err.find(t, "payments ← SeatReserved")
	code, out, errs := boxoffice(t, nil, "trace", b.ID, "--url", url, "--wait=100ms")
	if code != 0 || errs != "" {
		t.Errorf("exit %d, said %s", code, errs)
	}
	expectText(t, out, `(?s)^olena  seat 5  Pending\n.*process seats.BookingCreated.*\n\nThe booking is still Pending: more may come. .* boxoffice explain `+b.ID+" --url "+url+`\n$`)
	if got := unfinished(client.Booking{Status: "Cancelled"}); got != "Cancelled without its seat released" {
		t.Error(got)
	}
}

// Spans arrive in Jaeger one service after the other.
func TestTraceWaitsForJaeger(t *testing.T) {
	t.Parallel()
	whole, none := golden(t, "cancelled.json"), golden(t, "notfound.json")
	some := firstSpans(t, whole, 5)
	address := jaegerOf(t, func(n int64) (int, string) {
		switch n {
		case 1:
			return http.StatusNotFound, none
		case 2:
			return http.StatusOK, some
		}
		return http.StatusOK, whole
	})
	code, out, errs := boxoffice(t, []string{"JAEGER_URL=" + address}, "trace", "b1", "--url", bookingOf(t, "Cancelled"), "--wait=1m")
	if code != 0 || unhurried(errs) != "" {
		t.Errorf("exit %d, said %s", code, errs)
	}
	expectText(t, out, "^ivan  seat 7  Cancelled\ntrace "+goldenTrace+`

POST /bookings .*
└─ publish tickets.events BookingCreated .*
   └─ process seats.BookingCreated .* ✗ injected by the fault script: seats.BookingCreated=fail, attempt 1
      └─ publish tickets.retry 1000ms.seats.BookingCreated .*
         └─ process seats.BookingCreated .*
(?s:.*)
 +└─ process booking.SeatReleased .*
$`)
}

func TestTraceWithoutSpans(t *testing.T) {
	t.Parallel()
	whole, none := golden(t, "cancelled.json"), golden(t, "notfound.json")
	booking := bookingOf(t, "Cancelled")
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	for name, test := range map[string]struct {
		jaeger, out, errs string
		code              int
	}{
		"some": {
			jaegerOf(t, func(int64) (int, string) { return http.StatusOK, firstSpans(t, whole, 2) }),
			`POST /bookings`, `^Some spans are missing: their service has not sent them yet, or crashed before it could\.\n$`, 0,
		},
		"none": {
			jaegerOf(t, func(int64) (int, string) { return http.StatusNotFound, none }),
			`^$`, `^boxoffice: Jaeger at \S+ has no trace ` + goldenTrace + `: do the services export to it`, exitFailed,
		},
		"unreachable": {"http://127.0.0.1:1", `^$`, `^boxoffice: Jaeger at http://127.0.0.1:1 cannot be reached: .* refused\n$`, exitFailed},
		"broken": {
			jaegerOf(t, func(int64) (int, string) { return http.StatusInternalServerError, "oops" }),
			`^$`, `^boxoffice: \S+ answers 500 Internal Server Error, and not as Jaeger does: is it another server\?\n$`, exitFailed,
		},
		"hangs": {
			hanging.URL, `^$`, `^boxoffice: Jaeger at ` + hanging.URL + ` does not answer within 5s\n$`, exitFailed,
		},
		"no URL":     {"localhost:16686", `^$`, `^boxoffice: "localhost:16686" is not the URL of Jaeger`, exitFailed},
		"up forgets": {"", `^$`, `^boxoffice: \S+ keeps only its latest traces, and trace ` + goldenTrace + ` is not among them; if it exports them: --jaeger-url\n$`, exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"trace", "b1", "--url", booking, "--wait=300ms"}
			if test.jaeger != "" {
				args = append(args, "--jaeger-url", test.jaeger)
			}
			code, out, errs := boxoffice(t, nil, args...)
			if code != test.code {
				t.Errorf("exit %d", code)
			}
			expectText(t, out, test.out)
			expectText(t, unhurried(errs), test.errs)
		})
	}
}

func TestTraceInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	none := golden(t, "notfound.json")
	address := jaegerOf(t, func(int64) (int, string) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return http.StatusNotFound, none
	})
	c := start(t, nil, "trace", "b1", "--url", bookingOf(t, "Confirmed"), "--jaeger-url", address, "--wait=1h")
	wait(t, asked, "a question to Jaeger")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted || unhurried(c.err.String()) != "boxoffice: interrupted\n" {
		t.Errorf("exit %d, said %s", code, c.err)
	}
}

// unhurried is what was said but for the progress, which a slow machine has some of.
func unhurried(said string) string {
	return regexp.MustCompile(`(?m)^waiting for spans from .*\n`).ReplaceAllString(said, "")
}

// A command that is not asked for has examples, too.
func TestDeadHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"dead list", "dead show", "dead redrive", "dead drop", "trace"} {
		var out strings.Builder
		if code := run(context.Background(), append(strings.Fields(command), "--help"), console{&out, &out}); code != 0 {
			t.Errorf("%s --help: exit %d", command, code)
		}
		if queue := strings.Contains(out.String(), "<queue>"); queue != strings.HasPrefix(command, "dead") || queue && !strings.Contains(out.String(), " Only those of this queue,") {
			t.Errorf("%s says of QUEUE\n%s", command, &out)
		}
		expectText(t, out.String(), `Examples:\n\n +.*boxoffice `+command+` `)
	}
}
