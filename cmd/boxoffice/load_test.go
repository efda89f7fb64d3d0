package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"boxoffice/internal/load"
)

// labStack starts `up` and returns it with the flags that name its services.
func labStack(t *testing.T, variables ...string) (*command, []string) {
	t.Helper()
	up := start(t, anyPorts(append([]string{"BANK_DELAY=1ms", "LOG_LEVEL=warn"}, variables...)...), "up")
	return up, []string{"--url=" + up.url("booking"), "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments")}
}

// Load is driven through the door in both ways, what it left is verified, and
// reset leaves nothing.
func TestLoadVerifyReset(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "SEATS_TOTAL=100", "ADMISSION_ACTIVE=4", "ADMISSION_WAITING=4")
	code, stdout, stderr := boxoffice(t, nil, "load", services[0], "--count=30", "--seats=100", "--concurrency=4", "--duration=1m")
	if code != 0 || !regexp.MustCompile(`(?s) offered +30\n +202 Accepted +30 .*\n +Confirmed +30\n.*\ngoodput +[\d.]+ bookings/s `).MatchString(stdout) {
		t.Errorf("closed: exit %d\n%s%s", code, stdout, stderr)
	}

	code, stdout, stderr = boxoffice(t, nil, "load", services[0], "--mode=open", "--rate=2000", "--count=400", "--duration=1m", "--seats=1",
		"--seat-choice=random", "--json")
	var result load.Result
	if err := json.Unmarshal([]byte(stdout), &result); code != 0 || err != nil {
		t.Fatalf("open: exit %d %v\n%s%s", code, err, stdout, stderr)
	}
	answered := result.NotSent + result.NoAnswer
	for _, a := range result.Answers {
		if a.Status != http.StatusAccepted && a.Status != http.StatusTooManyRequests {
			t.Errorf("%d answers %d", a.Count, a.Status)
		}
		answered += a.Count
	}
	if o := result.Outcomes; result.Offered != 400 || answered != 400 || o.Confirmed > 1 || o.Rejected == 0 || o.Unfinished != 0 {
		t.Errorf("open: %+v", result)
	}
	if !strings.Contains(stderr, "boxoffice: warning: most bookings were Rejected: ") || len(result.Warnings) == 0 {
		t.Errorf("open said %q", stderr)
	}

	bookings := 30 + result.Saga.Count
	for _, step := range []struct{ command, want string }{
		{"verify", fmt.Sprintf(`^(\d  .* OK\n){4}(?s:.*)read %d bookings, %[1]d reservations, `, bookings)},
		{"reset", "^booking   drained\npayments  emptied\nseats     emptied\nbooking   emptied\nbooking   takes bookings\n$"},
		{"verify", `read 0 bookings, 0 reservations, 0 payments, 0 charges, and 100 seats of which 0 are held\n$`},
	} {
		code, stdout, stderr := boxoffice(t, nil, append([]string{step.command}, services...)...)
		if code != 0 || !regexp.MustCompile(step.want).MatchString(stdout) {
			t.Errorf("%s: exit %d\n%s%s", step.command, code, stdout, stderr)
		}
	}
}

func TestLoadInterrupted(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "SEATS_TOTAL=1000", "BANK_DELAY=1h")
	c := start(t, nil, "load", services[0], "--concurrency=3", "--duration=1h", "--seats=1000")
	c.err.find(t, "offered 3  accepted 3  refused 0  finished 0  outstanding 0")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted || !regexp.MustCompile(`(?s)202 Accepted +3 .* unfinished +3\n`).MatchString(c.out.String()) {
		t.Errorf("exit %d", code)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--url=http://192.0.2.1:5200"}, exitFailed, `192\.0\.2\.1:5200 is not on this machine: .* --allow-remote`},
		{[]string{"--url=http://127.0.0.1:1"}, exitFailed, `127\.0\.0\.1:1 cannot be reached: .*; start the services with: boxoffice up`},
		{[]string{"--url=http://[::1]:1"}, exitFailed, `start the services with: boxoffice up`},
		{[]string{"--url=nowhere"}, exitFailed, `"nowhere" is not the URL of a service`},
		{[]string{"--mode=both"}, exitUsage, `--mode must be one of`},
		{[]string{"--rate=NaN", "--concurrency=0", "--seats=1000001", "--duration=0s"}, exitUsage, `(?s)--concurrency=0 must be .*--seats=1000001 must be .*--rate=NaN must be .*--duration must be`},
		{[]string{"--rate=5"}, exitUsage, `^boxoffice: --rate is for --mode open, and this is --mode closed\n$`},
		{[]string{"--max-outstanding=5"}, exitUsage, `^boxoffice: --max-outstanding is for --mode open, and this is --mode closed\n$`},
		{[]string{"--mode=open", "--concurrency=5"}, exitUsage, `^boxoffice: --concurrency is for --mode closed, and this is --mode open\n$`},
		{[]string{"--mode=open", "--rate=5", "--max-outstanding=0"}, exitUsage, `^boxoffice: --max-outstanding=0 must be from 1 to 100000\n$`},
	} {
		var out strings.Builder
		code := run(t.Context(), append([]string{"load"}, test.args...), console{&out, &out})
		if code != test.code || !regexp.MustCompile(test.want).MatchString(out.String()) {
			t.Errorf("%v: exit %d %s", test.args, code, &out)
		}
	}
}

func TestAllowRemote(t *testing.T) {
	t.Parallel()
	l := loadCmd{URL: "http://192.0.2.1:5200", AllowRemote: true}
	if err := l.allowed(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestResetNeedsTheLab(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "LAB=off")
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset"}, services...)...)
	if code != exitFailed || stdout != "" || stderr != "boxoffice: the lab of payments is off: start the services with LAB=on\n" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// While a booking runs nothing is emptied, and the door opens again.
func TestResetOfAStackThatIsNotQuiet(t *testing.T) {
	t.Parallel()
	up, services := labStack(t, "BANK_DELAY=1h", "LOG_LEVEL=info")
	book := start(t, nil, "book", "--seat=1", "--customer=olena", "--amount=1", services[0])
	up.err.find(t, "payments ← SeatReserved")
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset", "--timeout=100ms"}, services...)...)
	if code != exitFailed || stdout != "booking   drained\n" || !regexp.MustCompile(`^boxoffice: after 100ms bookings still run: 1 active; .* Nothing was emptied\n$`).MatchString(stderr) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if err := connectReady(t, up.url("booking"), true); err != nil {
		t.Error(err)
	}
	book.signal(syscall.SIGINT)
	book.exit()
}

// A late duplicate is in hand at seats when all bookings are finished: seats
// refuses, and none of the others may be emptied before it agrees.
func TestResetWaitsForALateDuplicate(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "LOG_LEVEL=info")
	const fault = "seats.BookingCreated=delay:8s,seats.BookingCreated=drop-after-publish" // longer than seats waits
	if code, _, stderr := boxoffice(t, nil, "book", "--seat=1", "--customer=olena", "--amount=1", "--fault="+fault, services[0]); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	code, stdout, stderr := boxoffice(t, nil, append([]string{"reset", "--timeout=100ms"}, services...)...)
	if code != exitFailed || stdout != "booking   drained\n" || !strings.Contains(stderr, "boxoffice: nothing was emptied: seats: 409 ") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"verify"}, services...)...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"reset"}, services...)...); code != 0 || !strings.Contains(stdout, "seats     emptied\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// A service that fails in the middle is named, and the door opens again.
func TestResetThatFailsMidway(t *testing.T) {
	t.Parallel()
	var posts []string
	service := func(name string, broken bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet && r.URL.Path == "/lab/reset":
				problem(w, http.StatusMethodNotAllowed)
			case r.Method == http.MethodPost && r.URL.RawQuery == "check=true":
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodPost && broken:
				problem(w, http.StatusServiceUnavailable)
			case r.Method == http.MethodPost:
				posts = append(posts, name+r.URL.Path) // one after the other
				w.WriteHeader(http.StatusNoContent)
			default:
				fmt.Fprint(w, `{"accepting":true,"held":[],"payments":[]}`)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	var out, err strings.Builder
	code := run(t.Context(), []string{
		"reset", "--url=" + service("booking", false), "--seats-url=" + service("seats", true), "--payments-url=" + service("payments", false),
	}, console{&out, &err})
	if got := strings.Join(posts, " "); code != exitFailed || got != "booking/lab/drain payments/lab/reset booking/lab/resume" {
		t.Errorf("exit %d, posted %s", code, got)
	}
	if err.String() != "boxoffice: seats was not emptied, nor what comes after it (1 of 3 were): 503 Service Unavailable\n" || !strings.Contains(out.String(), "payments  emptied") {
		t.Errorf("printed %s, said %s", &out, &err)
	}
}

func problem(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprint(w, "{}")
}
