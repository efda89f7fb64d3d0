package main

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	// That one seat is fought for is the point; that nobody got it is worth a word.
	if warned := strings.Contains(stderr, "boxoffice: warning: most bookings were Rejected: "); warned != (result.Outcomes.Confirmed == 0) {
		t.Errorf("open, with %d Confirmed, said %q", result.Outcomes.Confirmed, stderr)
	}

	bookings := 30 + result.Saga.Count
	for _, step := range []struct{ command, want string }{
		{"verify", fmt.Sprintf(`^(\d  .* OK\n){4}(?s:.*)read %d bookings, %[1]d reservations, `, bookings)},
		{"reset", "^payments  gate open, bank answers\nbooking   drained\npayments  emptied\nseats     emptied\nbooking   emptied\nbooking   takes bookings\n$"},
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
	l := loadCmd{bookingURL: bookingURL{"http://192.0.2.1:5200"}, AllowRemote: true}
	if err := l.allowed(t.Context()); err != nil {
		t.Error(err)
	}
}
