package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestResetNeedsTheLab(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "LAB=off")
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset"}, services...)...)
	if code != exitUsage || stdout != "" || stderr != "boxoffice: the lab of payments is off: start the services with LAB=on\n" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// drainedOnly is what reset says when it cannot empty the services.
const drainedOnly = "payments  gate open, bank answers\nbooking   drained\n"

// While a booking runs nothing is emptied, and the door opens again.
func TestResetOfAStackThatIsNotQuiet(t *testing.T) {
	t.Parallel()
	up, services := labStack(t, "BANK_DELAY=1h", "LOG_LEVEL=info")
	book := start(t, nil, "book", "--seat=1", "--customer=olena", "--amount=1", services[0])
	up.err.find(t, "payments ← SeatReserved")
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset", "--timeout=100ms"}, services...)...)
	if code != exitFailed || stdout != drainedOnly || !regexp.MustCompile(`^boxoffice: after 100ms bookings still run: 1 active; charges are at the bank: it is slow, or .* Nothing was emptied\n$`).MatchString(stderr) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if err := connectReady(t, up.url("booking"), true); err != nil {
		t.Error(err)
	}
	book.signal(syscall.SIGINT)
	book.exit()
}

// The terminal is closed when the door is drained, and nobody has said so yet.
func TestResetThatEndsWhileItDrains(t *testing.T) {
	t.Parallel()
	up, services := labStack(t)
	target, err := url.Parse(up.url("booking"))
	if err != nil {
		t.Fatal(err)
	}
	var reset *command
	started := make(chan struct{})
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/lab/drain" {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		<-started
		reset.signal(syscall.SIGHUP)
		<-r.Context().Done()
	}))
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	t.Cleanup(proxy.Close)
	// A test run that ignores SIGHUP, as under nohup, would hand that down.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	reset = start(t, nil, append([]string{"reset"}, append(services, "--url="+proxy.URL)...)...)
	close(started)
	if code := reset.exit(); code != errHungUp.code || !strings.HasPrefix(reset.err.String(), "boxoffice: interrupted; bookings are taken again") {
		t.Errorf("exit %d", code)
	}
	if err := connectReady(t, up.url("booking"), true); err != nil {
		t.Error(err)
	}
}

// A late duplicate is in hand at seats when all bookings are finished: seats
// refuses, and none of the others may be emptied before it agrees.
func TestResetWaitsForALateDuplicate(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "LOG_LEVEL=info")
	const fault = "seats.BookingCreated=delay:12s,seats.BookingCreated=drop-after-publish" // longer than seats waits
	if code, _, stderr := boxoffice(t, nil, "book", "--seat=1", "--customer=olena", "--amount=1", "--fault="+fault, services[0]); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset", "--timeout=100ms"}, services...)...)
	if code != exitFailed || stdout != drainedOnly || !strings.Contains(stderr, "boxoffice: nothing was emptied: seats: 409 ") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"verify"}, services...)...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"reset"}, services...)...); code != 0 || !strings.Contains(stdout, "seats     emptied\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// pretended is three services that answer reset, and note what is posted.
type pretended struct {
	posts  []string          // one after the other
	refuse map[string]int    // the status of a path of a service
	stats  map[string]string // answers of a service
}

// reset runs reset on them.
func (p *pretended) reset(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	args = append([]string{"reset"}, args...)
	for _, name := range []string{"booking", "seats", "payments"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := name + r.URL.RequestURI()
			status, refused := p.refuse[r.Method+" "+path]
			switch {
			case refused:
				problem(w, status)
			case r.Method == http.MethodGet && r.URL.Path == "/lab/reset":
				problem(w, http.StatusMethodNotAllowed)
			case r.Method == http.MethodPost && r.URL.RawQuery == "check=true":
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodPost:
				body, _ := io.ReadAll(r.Body)
				p.posts = append(p.posts, path+string(body))
				w.WriteHeader(http.StatusNoContent)
			default:
				fmt.Fprint(w, cmp.Or(p.stats[name], `{"accepting":true,"held":[],"payments":[]}`))
			}
		}))
		t.Cleanup(server.Close)
		args = append(args, "--"+strings.TrimPrefix(name+"-url=", "booking-")+server.URL)
	}
	var out, err strings.Builder
	code = run(t.Context(), args, console{&out, &err})
	return code, out.String(), err.String()
}

// mended is what reset posts first.
const mended = `payments/lab/gate/open payments/lab/bank{"failure":0,"when":"before"}`

// A service that fails in the middle is named, and the door opens again.
func TestResetThatFailsMidway(t *testing.T) {
	t.Parallel()
	p := &pretended{refuse: map[string]int{"POST seats/lab/reset": http.StatusServiceUnavailable}}
	code, stdout, stderr := p.reset(t)
	if got := strings.Join(p.posts, " "); code != exitFailed || got != mended+" booking/lab/drain payments/lab/reset booking/lab/resume" {
		t.Errorf("exit %d, posted %s", code, got)
	}
	if stderr != "boxoffice: seats was not emptied, nor what comes after it (1 of 3 were): 503 Service Unavailable\n" || !strings.Contains(stdout, "payments  emptied") {
		t.Errorf("printed %s, said %s", stdout, stderr)
	}
}

// While one of them is not as it must be nothing is changed anywhere.
func TestResetChangesNothing(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{
		"GET booking/stats": http.StatusServiceUnavailable, "GET seats/seats?limit=1": http.StatusServiceUnavailable,
		"GET booking/lab/reset": http.StatusNotFound, "GET seats/lab/reset": http.StatusNotFound, "GET payments/lab/reset": http.StatusNotFound,
	} {
		p := &pretended{refuse: map[string]int{path: status}}
		want := exitFailed
		if status == http.StatusNotFound {
			want = exitUsage // the lab is off
		}
		if code, stdout, stderr := p.reset(t); code != want || len(p.posts) > 0 || stdout != "" || stderr == "" {
			t.Errorf("%s: exit %d, posted %q\n%s%s", path, code, p.posts, stdout, stderr)
		}
	}
	for path, want := range map[string]string{
		"payments/lab/gate/open": "boxoffice: nothing was emptied: the bank's gate was not opened: 503 ",
		"payments/lab/bank":      "boxoffice: nothing was emptied: the bank was not mended: 503 ",
	} {
		p := &pretended{refuse: map[string]int{"POST " + path: http.StatusServiceUnavailable}}
		if code, stdout, stderr := p.reset(t); code != exitFailed || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Contains(strings.Join(p.posts, " "), "drain") {
			t.Errorf("%s: exit %d, posted %q\n%s%s", path, code, p.posts, stdout, stderr)
		}
	}
}

// Bookings that run on are the bank's fault only where payments has them.
func TestResetNamesWhoIsSlow(t *testing.T) {
	t.Parallel()
	running := map[string]string{"booking": `{"accepting":true,"active":2}`}
	for want, refuse := range map[string]map[string]int{
		"; charges are at the bank: it is slow, or somebody has closed its gate, or made it fail, since it was mended. Nothing was emptied\n": {
			"POST payments/lab/reset?check=true": http.StatusConflict,
		},
		"; is a service away, or a message parked? Nothing was emptied\n": nil,
	} {
		p := &pretended{stats: running, refuse: refuse}
		code, stdout, stderr := p.reset(t, "--timeout=1ms")
		if code != exitFailed || stdout != drainedOnly || stderr != "boxoffice: after 1ms bookings still run: 2 active"+want {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		if got := strings.Join(p.posts, " "); got != mended+" booking/lab/drain booking/lab/resume" {
			t.Errorf("posted %s", got)
		}
	}
}

func problem(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprint(w, "{}")
}
