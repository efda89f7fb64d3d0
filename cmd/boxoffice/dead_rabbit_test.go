package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"boxoffice/internal/config"
	"boxoffice/internal/testserver"
	"boxoffice/messaging"
)

// rabbitDesk is a desk at a virtual host of its own.
func rabbitDesk(t *testing.T) (d desk, url string) {
	t.Helper()
	url = testserver.SharedRabbitMQ(t).VHost(t, "cmd-"+strings.ToLower(t.Name()))
	return newDesk(t, brokerAt(config.BrokerURL(url))), url
}

// dead runs a dead command on a broker, and returns what it prints.
func dead(t *testing.T, url string, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	got, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + url}, append([]string{"dead"}, args...)...)
	if got != code {
		t.Errorf("dead %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

func expectText(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("got\n%s\nwant\n%s", text, pattern)
	}
}

func TestDeadListShowAndDrop(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	out, _ := dead(t, url, 0, "list")
	expectText(t, out, `^nothing is parked in any queue\n$`)

	d.park(failedQueue, "b1", "b2")
	d.park("booking.PaymentFailed", "b1")
	d.park("seats.BookingCreated", strings.Repeat("very-long-", 10))
	for range 2 { // looking moves nothing
		out, _ = dead(t, url, 0, "list")
		expectText(t, out, `^QUEUE                  EVENT           BOOKING +REASON +ATTEMPTS  AGE  TRACE
seats\.BookingCreated   BookingCreated  very-long-\S{29}…  the cause of very-long-\S+…  4         5m   0af7651916cd43dd8448eb211c80319c
booking\.PaymentFailed  PaymentFailed   b1 +the cause of b1 +4         5m   0af7651916cd43dd8448eb211c80319c
seats\.PaymentFailed    PaymentFailed   b1 +the cause of b1 +4         5m   0af7651916cd43dd8448eb211c80319c
seats\.PaymentFailed    PaymentFailed   b2 +the cause of b2 +4         5m   0af7651916cd43dd8448eb211c80319c
$`)
	}
	out, _ = dead(t, url, 0, "list", deadQueue, "--id", "b2.PaymentFailed")
	expectText(t, out, `^QUEUE .*\nseats.PaymentFailed .* b2 .*\n$`)

	out, _ = dead(t, url, 0, "show", "--id", "b1")
	expectText(t, out, `(?s)^booking\.PaymentFailed\.dead\n.*\n\nseats\.PaymentFailed\.dead\n  message +b1\.PaymentFailed\n.*`+
		`  from +elsewhere\n.*  parked +\S+Z, 5m ago, by seats\n.*    baggage +boxoffice\.lab\.fault=.*\n    traceparent +00-0af7.*\n`+
		`  body, 27 bytes, application/json\n    \{\n      "bookingId": "b1",\n      "seat": 5\n    \}\n$`)

	_, errs := dead(t, url, exitFailed, "show", "--id", "b9")
	expectText(t, errs, `^boxoffice: no message b9 is parked in any queue\n$`)
	_, errs = dead(t, url, exitUsage, "list", "seats.Nothing")
	expectText(t, errs, `^boxoffice: there is no queue "seats.Nothing"; the queues are:\nboxoffice:   seats.BookingCreated\n(boxoffice:   \S+\n){6}$`)

	out, errs = dead(t, url, exitFailed, "drop", failedQueue) // whose standard input is empty
	expectText(t, out, `(?s) b1 .* b2 .*\n\nRemove 2 for good\? \[y/N\] \n$`)
	expectText(t, errs, `^boxoffice: nothing was removed; --yes does not ask\n$`)
	d.expect(deadQueue, "b1", "b2")
	out, _ = dead(t, url, 0, "drop", "--id=b1", "--yes")
	expectText(t, out, `^2 of 2 removed\n$`)
	d.expect(deadQueue, "b2")
	d.expect("booking.PaymentFailed.dead")
	d.expect(failedQueue)
}

// Who does not see what someone else holds is told so.
func TestDeadBesideAnother(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2")
	release := d.hold(deadQueue)
	const others = `what someone else is looking at, or redriving, right now, of seats\.PaymentFailed\n$`
	for _, command := range []string{"list", "show", "drop --yes --all", "redrive --all"} {
		d.park("booking.PaymentFailed", "b3")
		args := strings.Fields(command)
		_, errs := dead(t, url, 0, args...)
		expectText(t, errs, `^left out is `+others)
		out, _ := dead(t, url, 0, append(args, failedQueue)...)
		expectText(t, out, `^nothing is parked in seats.PaymentFailed, but for `+others)
	}
	d.expect("booking.PaymentFailed.dead") // what nobody held was dropped, and redriven
	d.expect("booking.PaymentFailed", "b3")
	_, errs := dead(t, url, exitFailed, "redrive", "--id", "b1")
	expectText(t, errs, `^boxoffice: no message b1 is parked in any queue, unless it is one of those that `+strings.TrimPrefix(others, "what "))
	release()
	out, errs := dead(t, url, 0, "redrive", failedQueue)
	expectText(t, out, `^seats.PaymentFailed  2 redriven\n$`)
	expectText(t, errs, `^$`)
}

func TestDropAsks(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2")
	for _, test := range []struct {
		answer string
		drops  bool
	}{{"n\n", false}, {"", false}, {"yes\n", true}} {
		var out, errs strings.Builder
		cmd := deadDropCmd{
			deadWhich: deadWhich{ID: "b1"}, deadFrom: deadFrom{BrokerURL: config.BrokerURL(url), Timeout: patience},
			answers: strings.NewReader(test.answer),
		}
		if err := cmd.Run(t.Context(), console{&out, &errs}); (err == nil) != test.drops {
			t.Errorf("%q: %v\n%s", test.answer, err, &out)
		}
	}
	d.expect(deadQueue, "b2")
}

// The message that was shown is dropped, not one that looks like it and was
// parked after the question.
func TestDropOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1")
	var out, errs strings.Builder
	cmd := deadDropCmd{
		deadWhich: deadWhich{Queue: failedQueue}, deadFrom: deadFrom{BrokerURL: config.BrokerURL(url), Timeout: patience},
		answers: answering(func() string {
			d.park(failedQueue, "b2", "b1")
			return "y\n"
		}),
	}
	if err := cmd.Run(t.Context(), console{&out, &errs}); err != nil {
		t.Fatal(err)
	}
	left := d.bookings(deadQueue)
	slices.Sort(left)
	if !slices.Equal(left, []string{"b1", "b2"}) {
		t.Errorf("%v are left", left)
	}
}

// answering answers when it is asked.
type answering func() string

func (a answering) Read(p []byte) (int, error) { return copy(p, a()), nil }

func TestRedriveOnRabbitMQ(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2", "b3")
	d.park("seats.BookingCreated", "b1")
	out, _ := dead(t, url, 0, "redrive", "--all", "--dry-run")
	expectText(t, out, `(?s)^QUEUE.*\n\n4 would be redriven; nothing was changed\n$`)
	d.expect(deadQueue, "b1", "b2", "b3")

	out, _ = dead(t, url, 0, "redrive", "seats.PaymentFailed.dead", "--id=b2")
	expectText(t, out, `^seats.PaymentFailed  1 redriven\n$`)
	d.expect(failedQueue, "b2")
	d.expect("booking.PaymentFailed") // the sibling of the same event
	d.expect(deadQueue, "b1", "b3")
	out, _ = dead(t, url, 0, "redrive", "--id", "b1", "--keep-fault")
	expectText(t, out, `^seats.BookingCreated  1 redriven\nseats.PaymentFailed  1 redriven\n$`)
	d.expect("seats.BookingCreated", "b1")

	got := d.contents(failedQueue)
	for i, baggage := range []string{"tenant=red", parkedFault} { // of b2 and b1
		m := got[i]
		if b := m.Header("baggage"); m.Attempt() != 1 || m.Header("traceparent") != parkedParent || len(b) != len(baggage) || !strings.Contains(b, "tenant=red") {
			t.Errorf("redriven with %v", m.Headers)
		}
		for _, h := range []string{messaging.HeaderReason, messaging.HeaderTraceID, messaging.HeaderParkedAt, messaging.HeaderService} {
			if m.Header(h) != "" {
				t.Errorf("redriven with %s", h)
			}
		}
	}
	_, errs := dead(t, url, exitFailed, "redrive", "--id", "b1")
	expectText(t, errs, `^boxoffice: no message b1 is parked in any queue\n$`)
	out, _ = dead(t, url, 0, "redrive", "seats.BookingCreated")
	expectText(t, out, `^nothing is parked in seats.BookingCreated\n$`)
}

func TestDeadWithoutAStack(t *testing.T) {
	t.Parallel()
	url := testserver.SharedRabbitMQ(t).VHost(t, "cmd-empty")
	_, errs := dead(t, url, exitFailed, "list")
	expectText(t, errs, `(?s)^boxoffice: browse seats\.BookingCreated\.dead: no such queue: .*\nboxoffice: The services make the queues when they start: is amqp://guest:xxxxx@\S+ the broker that they use\?\n$`)
	_, errs = dead(t, "amqp://guest:guest@127.0.0.1:1/", exitFailed, "redrive", "--all", "--timeout=200ms")
	expectText(t, errs, `^boxoffice: amqp://guest:xxxxx@127\.0\.0\.1:1/: the broker is unreachable: .* refused\n$`)
}

// Who is refused is not let in later: the whole of --timeout is not waited for.
func TestDeadRefused(t *testing.T) {
	t.Parallel()
	_, url := rabbitDesk(t)
	for name, wrong := range map[string]string{
		`username or password not allowed`: strings.Replace(url, "guest:guest@", "guest:hush@", 1),
		`NOT_ALLOWED - vhost `:             url + "-none",
	} {
		_, errs := dead(t, wrong, exitFailed, "list", "--timeout=1h")
		expectText(t, errs, `(?m)^boxoffice: amqp://guest:xxxxx@\S+: the broker is unreachable: Exception \(\d+\) Reason: .*`+name)
	}
}

// A redrive that is killed after the broker has stored the message, and before
// it knows: nothing is lost, and no more than that one message comes twice.
func TestRedriveKilledBetweenPublishAndRemoval(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2", "b3", "b4", "b5")
	proxy := newAMQPProxy(t, url, 3, false)
	c := start(t, []string{"BROKER_URL=" + proxy.url}, "dead", "redrive", "--all")
	wait(t, proxy.reached, "the third confirm")
	c.signal(syscall.SIGKILL)
	c.exit()
	d.eventually(deadQueue, "b3", "b4", "b5")
	d.expect(failedQueue, "b1", "b2", "b3")
	out, _ := dead(t, url, 0, "redrive", "--all")
	expectText(t, out, `^seats.PaymentFailed  3 redriven\n$`)
	d.expect(failedQueue, "b1", "b2", "b3", "b3", "b4", "b5")
	d.expect(deadQueue)
}

// The broker is gone halfway: nothing is lost, and it says how far it came.
func TestRedriveWithTheBrokerGoneHalfway(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2", "b3", "b4", "b5")
	proxy := newAMQPProxy(t, url, 3, true)
	c := start(t, []string{"BROKER_URL=" + proxy.url}, "dead", "redrive", "--all", "--timeout=1s")
	if code := c.exit(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	expectText(t, c.out.String(), `^seats.PaymentFailed  2 redriven\n$`)
	expectText(t, c.err.String(), `(?m)^boxoffice: 2 of 5 redriven, and the rest is still parked \(the next one may have been sent as well\): .*`)
	d.eventually(deadQueue, "b3", "b4", "b5")
	d.expect(failedQueue, "b1", "b2", "b3")
}

// Between two messages the broker can be gone as well.
func TestRedriveWaitsForTheBrokerInVain(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2")
	proxy := newAMQPProxy(t, url, -1, false)
	c := start(t, []string{"BROKER_URL=" + proxy.url}, "dead", "redrive", "--all", "--rate=1/h", "--timeout=1s")
	d.eventually(failedQueue, "b1")
	proxy.end()
	if code := c.exit(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	expectText(t, c.err.String(), `(?m)^boxoffice: 1 of 2 redriven, and the rest is still parked .*: amqp://guest:xxxxx@\S+: the broker is unreachable: .*`)
	d.eventually(deadQueue, "b2")
}

func TestRedriveInterrupted(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.park(failedQueue, "b1", "b2", "b3")
	c := start(t, []string{"BROKER_URL=" + url}, "dead", "redrive", failedQueue, "--rate=1/m")
	c.err.find(t, "^redriven 1 of 3$") // it says so when it takes long
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	expectText(t, c.err.String(), `(?m)^boxoffice: interrupted; 1 of 3 redriven, the rest stays parked$`)
	d.eventually(deadQueue, "b2", "b3")
	d.expect(failedQueue, "b1")
}

// Three redrives at once redrive each message once.
func TestRedrivesAtOnce(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	var sent []string
	for i := range 150 {
		sent = append(sent, fmt.Sprintf("b%03d", i))
	}
	d.park(failedQueue, sent...)
	var running []*command
	for range 3 {
		running = append(running, start(t, []string{"BROKER_URL=" + url}, "dead", "redrive", "--all"))
	}
	for _, c := range running {
		if code := c.exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	got := d.bookings(failedQueue)
	slices.Sort(got)
	if !slices.Equal(got, sent) {
		t.Errorf("%d messages were redriven, want each of %d once", len(got), len(sent))
	}
	d.expect(deadQueue)
}

// eventually waits until a queue holds just these messages: the broker gives
// back what a lost connection held in its own time.
func (d desk) eventually(queue string, want ...string) {
	d.Helper()
	for end := time.Now().Add(patience); ; {
		got := d.bookings(queue)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			d.Fatalf("%s holds %v, want %v", queue, got, want)
		}
	}
}

func wait(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}
