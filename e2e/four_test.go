package e2e_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// theFour is what the four bookings come to on services that start anew.
const theFour = `^olena  seat 5  Confirmed  {2,4}\d+ ms
petro  seat 5  Rejected   {2,6}\d+ ms  seat is taken or does not exist
ivan   seat 7  Cancelled  {2,4}\d+ ms  insufficient funds
maria  seat 7  Confirmed  {2,4}\d+ ms
`

// again is what they come to on services that have them already.
const again = `^olena  seat 5  Rejected   {2,6}\d+ ms  seat is taken or does not exist
petro  seat 5  Rejected   {2,6}\d+ ms  seat is taken or does not exist
ivan   seat 7  Rejected   {2,6}\d+ ms  seat is taken or does not exist
maria  seat 7  Rejected   {2,6}\d+ ms  seat is taken or does not exist

Some seats had been sold before`

func TestTheFourBookings(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	code, stdout, stderr := boxoffice(t, nil, "demo", "--url", s.targets.Booking)
	if code != 0 || !regexp.MustCompile(theFour+"\nivan's trace is [0-9a-f]{32}; ").MatchString(stdout) {
		t.Errorf("demo: exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = boxoffice(t, nil, "demo", "--url", s.targets.Booking)
	if code != 0 || !regexp.MustCompile(again).MatchString(stdout) {
		t.Errorf("second demo: exit %d\n%s%s", code, stdout, stderr)
	}
	if got := statuses(s); got != "Confirmed Rejected Cancelled Confirmed Rejected Rejected Rejected Rejected" {
		t.Errorf("the bookings are %s", got)
	}
	s.endWell()
}

func statuses(s *stack) string {
	s.t.Helper()
	var list []string
	for _, b := range s.settled() {
		list = append(list, b.Status)
	}
	return strings.Join(list, " ")
}

func TestTheFourBookingsInCurl(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, want := range []string{
		`olena  seat 5  Confirmed
petro  seat 5  Rejected   seat is taken or does not exist
ivan   seat 7  Cancelled  insufficient funds
maria  seat 7  Confirmed
`, `olena  seat 5  Rejected   seat is taken or does not exist
petro  seat 5  Rejected   seat is taken or does not exist
ivan   seat 7  Rejected   seat is taken or does not exist
maria  seat 7  Rejected   seat is taken or does not exist
book.sh: not free when it began: seat 5, seat 7; sold seats are freed by: boxoffice reset
`,
	} {
		cmd := exec.CommandContext(t.Context(), "../scripts/book.sh")
		cmd.Env = append(cmd.Environ(), "BASE_URL="+s.targets.Booking)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("book.sh: %v\n%s", err, out)
		}
	}
	s.settled()
	s.endWell()
}

func TestBook(t *testing.T) {
	t.Parallel()
	s := newStack(t, "SEATS_TOTAL=3", "CARD_LIMIT=12.50")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--seat=3 --customer=zoé --amount=12.5", 0, `^zoé    seat 3  Confirmed  +\d+ ms\nbooking \S+\ntrace [0-9a-f]{32}\n$`},
		{"--seat=4 --customer=zoé --amount=12.5", 0, `^zoé    seat 4  Rejected   +\d+ ms  seat is taken or does not exist\nbooking \S+\ntrace`},
		{"--seat=2 --customer=zoé --amount=12.51", 0, `^zoé    seat 2  Cancelled  +\d+ ms  insufficient funds\nbooking \S+\ntrace`},
		{"--seat=0 --customer=zoé --amount=0", 1, `^boxoffice: 422 [^\n]*\nboxoffice:   seat: [^\n]*\nboxoffice:   amount: [^\n]*\n$`},
		{"--seat=2 --customer=zoé --amount=1.001", 2, `^boxoffice: --amount: an amount must be a number with at most two decimals`},
		{"--seat=2 --amount=1", 2, `^boxoffice: .*--customer`},
	} {
		code, stdout, stderr := boxoffice(t, nil, append([]string{"book", "--url", s.targets.Booking}, strings.Fields(c.args)...)...)
		if code != c.code || !regexp.MustCompile(c.want).MatchString(stdout+stderr) || (stdout == "") != (code != 0) {
			t.Errorf("book %s: exit %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	if got := statuses(s); got != "Confirmed Rejected Cancelled" {
		t.Errorf("the bookings are %s", got)
	}
	s.endWell()
}
