package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// theFour is what the bookings come to on services that start anew.
const theFour = `^olena  seat 5  Confirmed  {2,6}\d+ ms
petro  seat 5  Rejected   {2,6}\d+ ms  seat is taken or does not exist
ivan   seat 7  Cancelled  {2,6}\d+ ms  insufficient funds
maria  seat 7  Confirmed  {2,6}\d+ ms
`

const theTree = `
POST /bookings +booking +\+0.00 ms +\S+ ms
└─ publish tickets.events BookingCreated +booking .* ms
   └─ process seats.BookingCreated +seats .* ms
      └─ publish tickets.events SeatReserved +seats .* ms
         └─ process payments.SeatReserved +payments +\+\S+ ms +([2-9]\d\d|\d{4,}) ms
            └─ publish tickets.events PaymentFailed +payments .* ms
               ├─ process booking.PaymentFailed +booking .* ms
               └─ process seats.PaymentFailed +seats .* ms
                  └─ publish tickets.events SeatReleased +seats .* ms
                     └─ process booking.SeatReleased +booking .* ms
$`

func TestDemo(t *testing.T) {
	t.Parallel()
	// What is set for other commands has no say here.
	code, stdout, stderr := boxoffice(t, []string{"CARD_LIMIT=1", "SEATS_TOTAL=x", "BOOKING_ADDR=:1"}, "demo")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, said %q", code, stderr)
	}
	want := theFour + "\nivan's booking as a trace, [0-9a-f]{32}:\n" + theTree
	if !regexp.MustCompile(want).MatchString(sorted(stdout)) {
		t.Errorf("it printed\n%s\nwant\n%s", stdout, want)
	}
}

// sorted puts the branch of booking before that of seats: they run at the same
// time, and either may begin first.
func sorted(tree string) string {
	lines := strings.Split(tree, "\n")
	for i, line := range lines {
		if strings.Contains(line, "├─ process seats.PaymentFailed") && i+3 < len(lines) {
			seats := []string{
				strings.Replace(line, "├", "└", 1),
				strings.Replace(lines[i+1], "│", " ", 1), strings.Replace(lines[i+2], "│", " ", 1),
			}
			booking := strings.Replace(lines[i+3], "└", "├", 1)
			return strings.Join(append(append(append(lines[:i:i], booking), seats...), lines[i+4:]...), "\n")
		}
	}
	return tree
}

func TestDemoVerbose(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := boxoffice(t, nil, "demo", "-v")
	id := regexp.MustCompile(`trace, ([0-9a-f]{32}):`).FindStringSubmatch(stdout)
	if code != 0 || id == nil {
		t.Fatalf("exit %d:\n%s", code, stdout)
	}
	for _, want := range []string{"booking  → BookingCreated ", "seats    ← BookingCreated ", "payments → PaymentFailed ", "seats    → SeatReleased "} {
		if !regexp.MustCompile(want + ".*booking=.*trace_id=" + id[1]).MatchString(stderr) {
			t.Errorf("no line for %q in\n%s", want, stderr)
		}
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "demo", "--verbose")
	c.err.find(t, "listening")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	c.err.find(t, "^boxoffice: interrupted$")
}

func TestDemoWithoutServices(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := boxoffice(t, nil, "demo", "--url", "http://127.0.0.1:1")
	want := `^boxoffice: olena: http://127\.0\.0\.1:1 cannot be reached: .*refused; start the services with: boxoffice up\n$`
	if code != exitFailed || stdout != "" || !regexp.MustCompile(want).MatchString(stderr) {
		t.Errorf("exit %d, printed %q, said %q", code, stdout, stderr)
	}
}
