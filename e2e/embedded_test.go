package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"boxoffice/internal/testserver"
	"boxoffice/internal/verify"
)

// These need no servers.

func TestDemo(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := boxoffice(t, nil, "demo")
	if code != 0 || stderr != "" || !regexp.MustCompile(theFour+"\nivan's booking as a trace, [0-9a-f]{32}:\n\nPOST /bookings ").MatchString(stdout) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, span := range []string{
		"POST /bookings +booking", "publish tickets.events BookingCreated +booking", "process seats.BookingCreated +seats",
		"publish tickets.events SeatReserved +seats", "process payments.SeatReserved +payments .* ([2-9][0-9]{2}|[0-9]{4,}) ms",
		"publish tickets.events PaymentFailed +payments", "process booking.PaymentFailed +booking",
		"process seats.PaymentFailed +seats", "publish tickets.events SeatReleased +seats",
	} {
		if n := len(regexp.MustCompile(span).FindAllString(stdout, -1)); n != 1 {
			t.Errorf("%d spans %q in\n%s", n, span, stdout)
		}
	}
}

// up is `boxoffice up` with its state in a folder, started again and again.
type up struct {
	t       *testing.T
	data    string
	env     []string
	targets verify.Targets
	http    *http.Client
}

func newUp(t *testing.T, variables ...string) *up {
	t.Helper()
	u := &up{t: t, data: filepath.Join(t.TempDir(), "state"), http: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	t.Cleanup(u.http.CloseIdleConnections)
	address := func(variable string) string {
		a := fmt.Sprintf("127.0.0.1:%d", testserver.FreePort(t))
		u.env = append(u.env, variable+"="+a)
		return "http://" + a
	}
	u.targets = verify.Targets{Booking: address("BOOKING_ADDR"), Seats: address("SEATS_ADDR"), Payments: address("PAYMENTS_ADDR")}
	u.env = append(u.env, variables...)
	return u
}

// start returns when bookings are taken.
func (u *up) start() *program {
	u.t.Helper()
	p := launch(u.t, u.env, "up", "--data", u.data)
	p.says("The state is kept in " + u.data + ". Ctrl-C stops.")
	return p
}

func TestUp(t *testing.T) {
	t.Parallel()
	u := newUp(t)
	first := u.start()
	for service, url := range map[string]string{"booking": u.targets.Booking, "seats": u.targets.Seats, "payments": u.targets.Payments} {
		first.says(fmt.Sprintf("%-8s  %s\n", service, url))
	}
	first.says("curl -i " + u.targets.Booking + "/bookings -H ")
	if code, stdout, stderr := boxoffice(t, nil, "demo", "--url", u.targets.Booking); code != 0 || !regexp.MustCompile(theFour).MatchString(stdout) {
		t.Errorf("demo: exit %d\n%s%s", code, stdout, stderr)
	}
	if code := first.stop(syscall.SIGINT); code != 0 || strings.Contains(first.stderr(), "boxoffice:") {
		t.Errorf("up: exit %d", code)
	}

	second := u.start()
	if code, stdout, stderr := boxoffice(t, nil, "demo", "--url", u.targets.Booking); code != 0 || !regexp.MustCompile(again).MatchString(stdout) {
		t.Errorf("demo on what was kept: exit %d\n%s%s", code, stdout, stderr)
	}
	if n := len(settled(t, u.http, u.targets)); n != 8 {
		t.Errorf("%d bookings were kept, not 8", n)
	}
	if code := second.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("up: exit %d", code)
	}
}

// Browsers, and clients with a pool, open connections that they may never use.
func TestUpStopsInSpiteOfUnusedConnections(t *testing.T) {
	t.Parallel()
	u := newUp(t)
	p := u.start()
	for _, url := range []string{u.targets.Booking, u.targets.Seats, u.targets.Payments} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	if code := p.stop(syscall.SIGINT); code != 0 {
		t.Errorf("exit %d\n%s", code, p.stderr())
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, service := range services {
		variable := strings.ToUpper(service) + "_ADDR"
		code, stdout, stderr := boxoffice(t, newUp(t, variable+"="+l.Addr().String()).env, "up")
		want := "boxoffice: " + l.Addr().String() + " is in use by another program; choose another address with " + variable
		if code == 0 || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
	}
}

// The embedded broker dies with its process and all that it holds: the bookings
// are taken up from their rows.
func TestKilledUp(t *testing.T) {
	t.Parallel()
	u := newUp(t, "SEATS_TOTAL=40", "BANK_DELAY=20ms", "BANK_CONCURRENCY=2", "INSTANCE=only")
	first := u.start()
	l := startLoad(t, newClient(t, u.targets.Booking), 50, 25)
	l.wait(t, l.middle)
	first.kill()
	close(l.goOn)
	l.refused(t)
	second := u.start()
	bookings := settled(t, u.http, u.targets, l.all(t)...)
	everyOutcome(t, bookings)
	if !strings.Contains(second.stderr(), "taking up unfinished bookings") {
		t.Error("nothing was left unfinished: it was not killed in the middle")
	}
	if code := second.stop(syscall.SIGINT); code != 0 {
		t.Errorf("up: exit %d", code)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "demo", "book", "booking", "seats", "payments", "health"} {
		code, stdout, stderr := boxoffice(t, nil, command, "--help")
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples:\n\n    ") || !strings.Contains(stdout, "boxoffice "+command) {
			t.Errorf("%s --help: exit %d\n%s%s", command, code, stdout, stderr)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	u := newUp(t)
	p := u.start()
	for _, url := range []string{u.targets.Booking, u.targets.Seats, u.targets.Payments + "/live"} {
		if code, stdout, stderr := boxoffice(t, nil, "health", url); code != 0 {
			t.Errorf("health %s: exit %d\n%s%s", url, code, stdout, stderr)
		}
	}
	p.stop(syscall.SIGTERM)
	if code, stdout, stderr := boxoffice(t, nil, "health", u.targets.Seats); code != 1 || !strings.Contains(stderr, "cannot be reached") {
		t.Errorf("health of nobody: exit %d\n%s%s", code, stdout, stderr)
	}
}
