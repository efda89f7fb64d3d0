package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// anyPorts let `up` run beside anything.
func anyPorts(more ...string) []string {
	return append([]string{"BOOKING_ADDR=127.0.0.1:0", "SEATS_ADDR=127.0.0.1:0", "PAYMENTS_ADDR=127.0.0.1:0"}, more...)
}

// url waits until `up` says where a service is.
func (c *command) url(service string) string {
	c.t.Helper()
	return c.out.find(c.t, "^"+service+` +(http://127\.0\.0\.1:\d+)$`)[1]
}

func TestUp(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts(), "up")
	url := up.url("booking")
	up.out.find(t, `curl -i `+regexp.QuoteMeta(url)+`/bookings -H 'Content-Type: application/json' -d '\{"seat":5,.*'$`)
	for _, service := range []string{url, up.url("seats"), up.url("payments"), url + "/live"} {
		if code, stdout, stderr := boxoffice(t, nil, "health", service); code != 0 || !strings.HasSuffix(service, "live") && stdout != "ready\n" {
			t.Errorf("health %s: exit %d %s%s", service, code, stdout, stderr)
		}
	}

	code, stdout, stderr := boxoffice(t, nil, "demo", "--url", url)
	if code != 0 || !regexp.MustCompile(theFour+"\nivan's trace is [0-9a-f]{32}; .*Jaeger.*\n$").MatchString(stdout) {
		t.Errorf("first demo: exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = boxoffice(t, nil, "demo", "--url", url)
	if code != 0 || strings.Count(stdout, "Rejected  ") != 4 || !strings.Contains(stdout, "\nSome seats had been sold before: ") || !strings.HasSuffix(stdout, "after: boxoffice reset --url "+url+"\n") {
		t.Errorf("second demo: exit %d\n%s%s", code, stdout, stderr)
	}

	code, stdout, _ = boxoffice(t, nil, "book", "--seat=3", "--customer=zoé", "--amount=12.50", "--url", url)
	if code != 0 || !regexp.MustCompile(`^zoé    seat 3  Confirmed  +\d+ ms\nbooking \S+\ntrace [0-9a-f]{32}\n$`).MatchString(stdout) {
		t.Errorf("book: exit %d\n%s", code, stdout)
	}
	code, stdout, stderr = boxoffice(t, nil, "book", "--seat=0", "--customer=", "--amount=-1", "--url", url+"/")
	if code != exitFailed || stdout != "" || !regexp.MustCompile(`^boxoffice: 422 .*\nboxoffice:   seat: .*\nboxoffice:   customer: .*\nboxoffice:   amount: .*\n$`).MatchString(stderr) {
		t.Errorf("bad book: exit %d\n%s%s", code, stdout, stderr)
	}

	up.signal(syscall.SIGINT)
	if code := up.exit(); code != 0 || strings.Contains(up.err.String(), "boxoffice:") {
		t.Errorf("exit %d\n%s", code, up.err)
	}
}

// Bookings survive the process, even one in the middle of its saga.
func TestUpKeepsItsData(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "new", "data")
	first := start(t, anyPorts("BANK_DELAY=1h"), "up", "--data", data)
	url := first.url("booking")
	book := start(t, nil, "book", "--seat=1", "--customer=olena", "--amount=450", "--url", url)
	first.err.find(t, "payments ← SeatReserved")
	first.signal(syscall.SIGKILL)
	first.exit()

	second := start(t, append(anyPorts(), "BOOKING_ADDR="+strings.TrimPrefix(url, "http://")), "up", "--data", data)
	if code := book.exit(); code != 0 {
		t.Errorf("book: exit %d", code)
	}
	book.out.find(t, "^olena  seat 1  Confirmed ")
	code, stdout, stderr := boxoffice(t, anyPorts(), "up", "--data", data)
	want := fmt.Sprintf("boxoffice: --data: %s is in use by another boxoffice up (process %d); stop that one, or name another folder\n", data, second.cmd.Process.Pid)
	if code != exitFailed || stdout != "" || stderr != want {
		t.Errorf("a third, on the same folder: exit %d\n%s%s", code, stdout, stderr)
	}
	second.out.find(t, "The state is kept in "+regexp.QuoteMeta(data))
	second.signal(syscall.SIGTERM)
	if code := second.exit(); code != 0 {
		t.Errorf("up: exit %d", code)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	code, stdout, stderr := boxoffice(t, anyPorts("SEATS_ADDR="+l.Addr().String()), "up")
	want := fmt.Sprintf("boxoffice: %s is in use by another program; choose another address with SEATS_ADDR, for example SEATS_ADDR=127.0.0.1:0 for any free port\n", l.Addr())
	if code != exitFailed || stdout != "" || stderr != want {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// Beside another up, one free address is not enough.
func TestUpBesideAnother(t *testing.T) {
	t.Parallel()
	first := start(t, anyPorts(), "up")
	address := func(service string) string { return strings.TrimPrefix(first.url(service), "http://") }
	code, stdout, stderr := boxoffice(t, []string{
		"BOOKING_ADDR=" + address("booking"), "SEATS_ADDR=" + address("seats"), "PAYMENTS_ADDR=" + address("payments"),
	}, "up")
	want := "boxoffice: " + address("booking") + ` is in use by another program; choose another address with BOOKING_ADDR, .*
boxoffice: 3 of 3 addresses are in use: is another boxoffice up running\? Beside it, on any free ports:
boxoffice:   BOOKING_ADDR=127\.0\.0\.1:0 SEATS_ADDR=127\.0\.0\.1:0 PAYMENTS_ADDR=127\.0\.0\.1:0 boxoffice up
`
	if code != exitFailed || stdout != "" || !regexp.MustCompile("^"+want+"$").MatchString(stderr) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// halfway sends the first half of a booking, and returns once it is being read.
func halfway(t *testing.T, url string) (c net.Conn, answer *bufio.Reader, rest string) {
	t.Helper()
	const body = `{"seat":5,"customer":"olena","amount":450}`
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST /bookings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	answer = bufio.NewReader(c)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q %v", line, err)
	}
	if _, err := answer.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, body[:10]); err != nil {
		t.Fatal(err)
	}
	return c, answer, body[10:]
}

// refuses waits until a service takes no new connections.
func refuses(url string) {
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

// A booking that was accepted is answered, outcome or not; one that comes too
// late is told so.
func TestStoppingFinishesRequests(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("BANK_DELAY=1h"), "up")
	url := up.url("booking")
	late, answer, rest := halfway(t, url)
	waiting := make(chan string, 1)
	go func() {
		req, err := http.NewRequest(http.MethodPost, url+"/bookings", strings.NewReader(`{"seat":5,"customer":"olena","amount":450}`))
		if err != nil {
			waiting <- err.Error()
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "wait=60")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			waiting <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		waiting <- fmt.Sprintln(res.StatusCode, string(body), err)
	}()
	up.err.find(t, "payments ← SeatReserved") // which takes an hour
	up.signal(syscall.SIGTERM)
	up.signal(syscall.SIGTERM) // at once, which is no impatience
	select {
	case got := <-waiting:
		if !regexp.MustCompile(`^202 .*"status":"Pending"`).MatchString(got) {
			t.Errorf("who waited got %s", got)
		}
	case <-time.After(patience):
		t.Fatal("who waits is not answered")
	}
	refuses(url)
	if _, err := io.WriteString(late, rest); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "urn:boxoffice:problem:draining") {
		t.Errorf("who came late got %s %s %v", res.Status, body, err)
	}
	if code := up.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts(), "up")
	url := up.url("booking")
	halfway(t, url) // keeps it from ending
	up.signal(syscall.SIGINT)
	up.signal(syscall.SIGINT) // at once, which is no impatience
	refuses(url)
	again := time.NewTicker(sameSignal)
	defer again.Stop()
	for running := true; running; {
		select {
		case <-again.C:
			_ = up.cmd.Process.Signal(syscall.SIGINT) // fails once it has ended
		case <-up.ended:
			running = false
		}
	}
	if code := up.exit(); code != exitInterrupted || strings.Contains(up.err.String(), "booking  stopped") {
		t.Errorf("exit %d", code)
	}
}
