package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/config"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// openUp is what `up` runs, on free ports in this process, with a desk at its broker.
func openUp(t *testing.T) (d desk, url string, recorder *telemetry.Recorder) {
	t.Helper()
	var s scene
	if err := config.Defaults(&s); err != nil {
		t.Fatal(err)
	}
	s.BookingAddr, s.SeatsAddr, s.PaymentsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	recorder = telemetry.NewRecorder(0)
	p := process{broker: brokerAt(config.BrokerURL("inproc:")), logs: io.Discard, recorder: recorder}
	hs, err := s.open(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	hs[0].service = withLab(hs[0], recorder, true, nil)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hs.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := hs.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return newDesk(t, p.broker), hs[0].url(), recorder
}

// parkByService has booking park an event of a booking that nobody knows.
func (d desk) parkByService(url string) (booking string) {
	d.Helper()
	id := uuid.Must(uuid.NewV7())
	body, err := json.Marshal(tickets.PaymentSucceeded{BookingID: id})
	if err != nil {
		d.Fatal(err)
	}
	err = d.Publish(d.Context(), tickets.ExchangeEvents, "PaymentSucceeded", messaging.Message{
		ID: id.String() + ".PaymentSucceeded", Type: "PaymentSucceeded", CorrelationID: id.String(), Body: body,
		Headers: map[string]any{"traceparent": parkedParent, "baggage": parkedFault},
	})
	if err != nil {
		d.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if code, _, _ := boxoffice(d.T, nil, "dead", "list", "--url", url, "--id", id.String()); code == 0 {
			return id.String()
		}
	}
	d.Fatal("booking does not park it")
	return ""
}

func TestDeadAtUp(t *testing.T) {
	t.Parallel()
	d, url, recorder := openUp(t)
	at := func(code int, args ...string) (string, string) {
		t.Helper()
		got, out, errs := boxoffice(t, nil, append([]string{"dead"}, append(args, "--url", url)...)...)
		if got != code {
			t.Errorf("dead %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
		}
		return out, errs
	}
	out, _ := at(0, "list")
	expectText(t, out, `^nothing is parked in any queue\n$`)
	id := d.parkByService(url)
	out, _ = at(0, "list", "booking.PaymentSucceeded")
	expectText(t, out, `^QUEUE .*\nbooking.PaymentSucceeded  PaymentSucceeded  `+id+`  \S.* 1  +\ds   `+parkedTrace+`\n$`)
	out, _ = at(0, "show", "--id", id)
	expectText(t, out, `(?s)^booking.PaymentSucceeded.dead\n  message +`+id+`\.PaymentSucceeded\n.*baggage .*fault=.*"bookingId": "`+id+`"`)
	out, _ = at(0, "redrive", "--all", "--dry-run")
	expectText(t, out, `\n1 would be redriven; nothing was changed\n$`)

	// It parks again, for nothing has changed: its trace tells that it was redriven.
	redriven := func(times int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := recorder.Wait(ctx, parkedTrace, func(spans []telemetry.Span) bool {
			n := 0
			for _, s := range spans {
				if s.Name == "process booking.PaymentSucceeded" && s.Error != "" {
					n++
				}
			}
			return n == 1+times
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, _ = at(0, "redrive", "booking.PaymentSucceeded", "--keep-fault")
	expectText(t, out, `^booking.PaymentSucceeded  1 redriven\n$`)
	redriven(1)
	if m := d.contents("booking.PaymentSucceeded.dead"); len(m) != 1 || len(m[0].Header("baggage")) != len(parkedFault) {
		t.Errorf("parked again: %v", m)
	}
	out, _ = at(0, "redrive", "--id", id)
	expectText(t, out, `^booking.PaymentSucceeded  1 redriven\n$`)
	redriven(2)
	if m := d.contents("booking.PaymentSucceeded.dead"); len(m) != 1 || m[0].Header("baggage") != "tenant=red" {
		t.Errorf("parked again: %v", m)
	}

	_, errs := at(exitUsage, "drop")
	expectText(t, errs, `^boxoffice: which messages\? Name an --id or a QUEUE`)
	out, errs = at(exitFailed, "drop", "--id", id) // which nobody answers
	expectText(t, out, `^QUEUE .*\nbooking.PaymentSucceeded .*`+id+`.*\n\nRemove 1 for good\? \[y/N\] \n$`)
	expectText(t, errs, `^boxoffice: nothing was removed; --yes does not ask\n$`)
	d.park(failedQueue, "a", "a", "b")
	out, _ = at(0, "drop", failedQueue, "--id=a", "--yes")
	expectText(t, out, `^2 of 2 removed\n$`)
	d.expect(failedQueue+".dead", "b")
	out, _ = at(0, "drop", "--all", "--yes")
	expectText(t, out, `^2 of 2 removed\n$`)
	out, _ = at(0, "drop", "--all", "--yes")
	expectText(t, out, `^nothing is parked in any queue\n$`)

	_, errs = at(exitFailed, "redrive", "--id", "nope")
	expectText(t, errs, `^boxoffice: no message nope is parked in any queue\n$`)
	d.park(failedQueue, "a")
	release := d.hold(failedQueue + ".dead")
	for _, command := range []string{"list", "show", "redrive"} {
		out, _ = at(0, command, failedQueue)
		expectText(t, out, `^nothing is parked in seats.PaymentFailed, but for what someone else is looking at, `)
	}
	release()
	_, errs = at(exitUsage, "redrive", "--all", "--rate=1/s")
	expectText(t, errs, `^boxoffice: --rate is for a broker of its own, not for --url\n$`)
}

func TestUpLabOverHTTP(t *testing.T) {
	t.Parallel()
	d, url, _ := openUp(t)
	for range 40 { // more than an answer holds
		err := d.Publish(t.Context(), tickets.ExchangeDead, failedQueue, messaging.Message{
			ID: "large", Body: []byte(strings.Repeat("x", 64<<10)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/lab/dead?queue=seats.PaymentFailed.dead", "", 200, `^\{"messages":\[\{"key":"[0-9a-f]{32}","queue":"seats.PaymentFailed","event":"PaymentFailed",.*\],"more":9\}`},
		{"GET", "/lab/dead?queue=seats.PaymentFailed&id=nope", "", 200, `^\{"messages":\[\]\}\n$`},
		{"GET", "/lab/dead?queue=x", "", 400, `"field":"queue","detail":"there is no queue`},
		{"GET", "/lab/dead?id=%zz", "", 400, `query`},
		{"POST", "/lab/dead/redrive", `{"id":"nope"}`, 200, `^\{"redriven":\{\}\}\n$`},
		{"POST", "/lab/dead/redrive", `{"queue":"x","id":3,"keepFault":1,"z":2}`, 422, `"queue".*"id".*"keepFault","detail":"must be true or false".*"z","detail":"is not a known field"`},
		{"POST", "/lab/dead/redrive", `[]`, 400, `must be a JSON object`},
		{"DELETE", "/lab/dead", "", 405, ""},
		{"POST", "/lab/dead/drop", `{"messages":["nope"]}`, 200, `^\{"dropped":0\}\n$`},
		{"POST", "/lab/dead/drop", `{"messages":[],"z":2}`, 422, `"messages","detail":"must be 1 to 1000 keys.*"z","detail":"is not a known field"`},
		{"POST", "/lab/dead/drop", `{"messages":[3]}`, 422, `"messages"`},
		{"POST", "/lab/dead/drop", `[]`, 400, `must be a JSON object`},
		{"GET", "/lab/traces/nonsense", "", 200, `^\{"spans":\[\]\}\n$`},
		{"GET", "/lab/nothing", "", 404, "problem|Not Found"},
		{"GET", "/stats", "", 200, `"accepting":true`}, // the service itself
	} {
		req, err := http.NewRequest(test.method, url+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != test.status || !regexp.MustCompile("(?s)"+test.says).Match(text) {
			t.Errorf("%s %s: %s %v %.300s", test.method, test.path, res.Status, err, text)
		}
	}
}

// A message that JSON cannot hold is shown all the same.
func TestLetterJSON(t *testing.T) {
	t.Parallel()
	nan := 0.0
	nan /= nan
	l := messaging.DeadLetter{Queue: failedQueue, Message: messaging.Message{ID: "m", Headers: map[string]any{"nan": nan, "n": 1}, Body: []byte{0xff}}}
	j := toLetterJSON(l)
	if n := j.size(); n < 50 || j.Headers["nan"] != "NaN" || j.Headers["n"] != "1" {
		t.Errorf("%d bytes: %v", n, j.Headers)
	}
	if back := j.letter(); string(back.Message.Body) != "\xff" || back.Queue != failedQueue || back.Message.ID != "m" {
		t.Errorf("%+v", back)
	}
}

func TestUpWithoutLab(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("LAB=off"), "up")
	url := up.url("booking")
	code, _, errs := boxoffice(t, nil, "dead", "list", "--url", url)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	expectText(t, errs, `^boxoffice: http://\S+ shows no parked messages: it is no boxoffice up with LAB=on and the broker in its process; ask RabbitMQ itself, with --broker-url\n$`)
	_, stdout, _ := boxoffice(t, nil, "book", "--seat=1", "--customer=olena", "--amount=1", "--url", url)
	trace := regexp.MustCompile("trace ([0-9a-f]{32})").FindStringSubmatch(stdout)
	id := firstBooking(t, url)
	code, _, errs = boxoffice(t, nil, "trace", id, "--url", url)
	if code != exitFailed || trace == nil {
		t.Errorf("exit %d, %s", code, stdout)
	}
	expectText(t, errs, `^boxoffice: http://\S+ keeps no traces: it is no boxoffice up with LAB=on; name the Jaeger that the services export to, with --jaeger-url \(trace `+trace[1]+`\)\n$`)
	code, _, errs = boxoffice(t, nil, "dead", "list", "--url", "http://127.0.0.1:1")
	if code != exitFailed || !strings.Contains(errs, "cannot be reached") || !strings.Contains(errs, "is boxoffice up running?") {
		t.Errorf("exit %d %s", code, errs)
	}
}
