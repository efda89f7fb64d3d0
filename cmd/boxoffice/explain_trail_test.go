package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// newBooking is a stack on RabbitMQ with a booking, b1, of which seats and
// payments know nothing yet; its trace is goldenTrace. These are the flags for it.
func newBooking(t *testing.T) (address string, flags []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bookings/b1":
			fmt.Fprintf(w, `{"id":"b1","customer":"olena","seat":5,"amount":450,"status":"Pending","traceId":%q}`, goldenTrace)
		case "/stats":
			fmt.Fprint(w, `{"broker":"ok"}`)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"title":"Not Found","status":404}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, []string{"--url=" + server.URL, "--seats-url=" + server.URL, "--payments-url=" + server.URL}
}

// retrying is an answer of Jaeger: attempts of seats.BookingCreated failed, the
// last of them just now, and a copy waits.
func retrying(t *testing.T, attempts int) string {
	t.Helper()
	type object = map[string]any
	began := time.Now().Add(-time.Minute).UnixMicro()
	span := func(parent, id, name string, tags ...object) object {
		return object{
			"traceID": goldenTrace, "spanID": id, "operationName": name, "processID": "p1", "startTime": began, "duration": 1000, "tags": tags,
			"references": []object{{"refType": "CHILD_OF", "traceID": goldenTrace, "spanID": parent}},
		}
	}
	var spans []object
	parent := "root"
	for n := 1; n <= attempts; n++ {
		if n == attempts {
			began = time.Now().UnixMicro()
		}
		process, sent := fmt.Sprintf("process%d", n), fmt.Sprintf("sent%d", n)
		spans = append([]object{ // Jaeger keeps no order
			span(process, sent, "publish tickets.retry 30000ms.seats.BookingCreated"),
			span(parent, process, "process seats.BookingCreated",
				object{"key": "boxoffice.attempt", "type": "int64", "value": n},
				object{"key": "otel.status_code", "type": "string", "value": "ERROR"},
				object{"key": "otel.status_description", "type": "string", "value": "no luck"}),
		}, spans...)
		parent, began = sent, began+1
	}
	answer, err := json.Marshal(object{"data": []object{{"spans": spans, "processes": object{"p1": object{"serviceName": "seats"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestExplainAsksJaeger(t *testing.T) {
	t.Parallel()
	_, flags := newBooking(t)
	body := retrying(t, 2)
	jaeger := jaegerOf(t, func(int64) (int, string) { return http.StatusOK, body })
	const want = `(?m)^It waits for seats\.BookingCreated\.
Attempt 2 of seats\.BookingCreated failed \(no luck\); the next one waits in seats\.wait\.30000ms; it (comes back at about [\d:]+, in \d+ s|is due since .*)\.$`
	for name, c := range map[string]struct{ variables, flags []string }{
		"flag":     {nil, []string{"--jaeger-url", jaeger}},
		"variable": {[]string{"JAEGER_URL=" + jaeger}, nil},
	} {
		code, out, errs := boxoffice(t, c.variables, append(append([]string{"explain", "b1"}, flags...), c.flags...)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit %d, said %s", name, code, errs)
		}
		expectText(t, out, want)
		expectText(t, out, `\nWhat to do: nothing; it is tried again by itself, and parked after the last attempt\.\n$`)
	}
}

// Whatever Jaeger is about, explain says what it knows, and what it does not.
func TestExplainWithoutATrace(t *testing.T) {
	t.Parallel()
	address, flags := newBooking(t)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hanging.Close)
	none := golden(t, "notfound.json")
	const log = `look into the log of seats for "failed; will be tried again" with this booking's id\.`
	for name, c := range map[string]struct{ jaeger, why, toKnow string }{
		"none is named": {"", address + ` keeps no traces, and no Jaeger is named`, `name the Jaeger that the services export to \(JAEGER_URL\), or ` + log},
		"down":          {"http://u:hush@127.0.0.1:1", `Jaeger at http://u:xxxxx@127\.0\.0\.1:1 cannot be reached: .* refused`, log},
		"hangs":         {hanging.URL, `Jaeger at ` + hanging.URL + ` does not answer within 200ms`, log},
		"has no trace": {
			jaegerOf(t, func(int64) (int, string) { return http.StatusNotFound, none }),
			`Jaeger at \S+ has no trace ` + goldenTrace + `: do the services export to it \(OTEL_EXPORTER_OTLP_ENDPOINT\)\?`, log,
		},
		"is another server": {
			jaegerOf(t, func(int64) (int, string) { return http.StatusInternalServerError, "oops" }),
			`\S+ answers 500 Internal Server Error, and not as Jaeger does: is it another server\?`, log,
		},
		"no URL": {"localhost:16686", `"localhost:16686" is not the URL of Jaeger; use for example \S+`, log},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"explain", "b1"}, flags...)
			if c.jaeger == hanging.URL {
				args = append(args, "--timeout=200ms")
			}
			code, out, errs := boxoffice(t, []string{"JAEGER_URL=" + c.jaeger}, args...)
			if code != 0 || errs != "" {
				t.Errorf("exit %d, said %s", code, errs)
			}
			expectText(t, out, `\nWhether a copy of its message waits for another attempt is not known: (`+c.why+`)\nTo know it, `+c.toKnow+`\n`)
			expectText(t, out, `\nWhat to do: nothing for now\. A copy that waits is tried again by itself; if the message was lost, .*\n$`)
		})
	}
}

// A shell that has JAEGER_URL set is good enough for an up that exports nothing.
func TestExplainAtUpWithAJaegerThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("RETRY_DELAYS=30s"), "up")
	url := up.url("booking")
	b := postFaulty(t, url, `{"seat":5,"customer":"olena","amount":450}`, "seats.BookingCreated=fail")
	up.err.find(t, "failed; will be tried again.*"+b.ID)
	none := golden(t, "notfound.json")
	jaeger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, none)
	}))
	t.Cleanup(jaeger.Close)
	args := []string{"explain", b.ID, "--url=" + url, "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments"), "--jaeger-url=" + jaeger.URL}
	untilSays(t, "Attempt 1 of seats.BookingCreated failed (injected by the fault script: seats.BookingCreated=fail, attempt 1); the next one waits in seats.wait.30000ms; it comes back at about ", func() string {
		_, out, errs := boxoffice(t, nil, args...)
		return out + errs
	})
}

func TestExplainInterrupted(t *testing.T) {
	t.Parallel()
	_, flags := newBooking(t)
	asked := make(chan struct{}, 1)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	c := start(t, nil, append([]string{"explain", "b1", "--timeout=1h", "--jaeger-url", hanging.URL}, flags...)...)
	wait(t, asked, "a question to Jaeger")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted || c.out.String() != "" || c.err.String() != "boxoffice: interrupted\n" {
		t.Errorf("exit %d, said %s%s", code, c.out, c.err)
	}
}
