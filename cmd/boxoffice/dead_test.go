package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/config"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

const (
	parkedTrace  = "0af7651916cd43dd8448eb211c80319c"
	parkedParent = "00-" + parkedTrace + "-b7ad6b7169203331-01"
	parkedFault  = "boxoffice.lab.fault=payments.SeatReserved=poison,tenant=red"
)

// desk is a test's own connection to the broker of a command.
type desk struct {
	*testing.T
	messaging.Broker
}

func newDesk(t *testing.T, at connector) desk {
	t.Helper()
	b, err := at.connect("test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := b.Declare(t.Context(), tickets.Topology([]time.Duration{time.Second}), messaging.TopologyDeclare); err != nil {
		t.Fatal(err)
	}
	return desk{t, b}
}

// park parks a message of each booking, as the services do.
func (d desk) park(queue string, bookings ...string) {
	d.Helper()
	service, event, _ := strings.Cut(queue, ".")
	for _, id := range bookings {
		err := d.Publish(d.Context(), tickets.ExchangeDead, queue, messaging.Message{
			ID: id + "." + event, Type: event, AppID: "elsewhere", CorrelationID: id, ContentType: "application/json",
			Headers: map[string]any{
				messaging.HeaderReason: "the cause of " + id, messaging.HeaderService: service, messaging.HeaderAttempt: 4,
				messaging.HeaderTraceID: parkedTrace, messaging.HeaderParkedAt: time.Now().Add(-5 * time.Minute).UTC().Format(time.RFC3339),
				"traceparent": parkedParent, "baggage": parkedFault,
			},
			Body: []byte(`{"bookingId":"` + id + `","seat":5}`),
		})
		if err != nil {
			d.Fatal(err)
		}
	}
}

func (d desk) contents(queue string) (list []messaging.Message) {
	d.Helper()
	err := d.Browse(d.Context(), queue, func(_ context.Context, m messaging.Message) (bool, error) {
		list = append(list, m)
		return false, nil
	})
	if err != nil && !errors.Is(err, messaging.ErrHeld) {
		d.Fatal(err)
	}
	return list
}

// bookings are whose messages a queue holds, in order.
func (d desk) bookings(queue string) []string {
	d.Helper()
	list := []string{}
	for _, m := range d.contents(queue) {
		list = append(list, m.CorrelationID)
	}
	return list
}

// hold looks at all messages of a queue until it is told to release them.
func (d desk) hold(queue string) (release func()) {
	d.Helper()
	holds, released, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		done <- d.Browse(d.Context(), queue, func(context.Context, messaging.Message) (bool, error) {
			if first {
				first = false
				close(holds)
				<-released
			}
			return false, nil
		})
	}()
	wait(d.T, holds, "the first message")
	return func() {
		close(released)
		if err := <-done; err != nil {
			d.Error(err)
		}
	}
}

// expect fails unless a queue holds just the messages of these bookings.
func (d desk) expect(queue string, want ...string) {
	d.Helper()
	if got := d.bookings(queue); !slices.Equal(got, append([]string{}, want...)) {
		d.Errorf("%s holds %v, want %v", queue, got, want)
	}
}

const (
	failedQueue = "seats.PaymentFailed" // booking.PaymentFailed is its sibling
	deadQueue   = failedQueue + ".dead"
)

// newRedrive redrives on an embedded broker, in virtual time.
func newRedrive(d desk, pause time.Duration) *redrive {
	o := newOperator(d.Broker, &telemetry.Telemetry{}, console{io.Discard, io.Discard}, "inproc:", time.Hour)
	return &redrive{
		operator: o, queues: tickets.System(nil).WorkQueues(), match: func(messaging.DeadLetter) bool { return true }, pause: pause, round: roundLimit,
	}
}

// A slow redrive holds no message for long: what was not reached yet is given
// back, and what is parked meanwhile waits for the next redrive.
func TestRedriveInRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, brokerAt(config.BrokerURL("inproc:")))
		d.park(failedQueue, "a", "b", "c", "d")
		d.park("seats.BookingCreated", "x")
		r := newRedrive(d, 3*time.Minute)
		began := time.Now()
		done := make(chan error)
		go func() { done <- r.run(t.Context()) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		d.park(failedQueue, "late")
		if seen := d.bookings(deadQueue); !slices.Equal(seen, []string{"late"}) {
			t.Errorf("within the first round others see %v", seen)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if seen := d.bookings(deadQueue); !slices.Equal(seen, []string{"b", "c", "d", "late"}) {
			t.Errorf("between two rounds others see %v", seen)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 4*3*time.Minute {
			t.Errorf("five messages at one in 3 minutes took %s", took)
		}
		d.expect(failedQueue, "a", "b", "c", "d")
		d.expect("seats.BookingCreated", "x")
		d.expect(deadQueue, "late")
	})
}

// One in an hour is less than a round can wait.
func TestRedriveSlowerThanARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, brokerAt(config.BrokerURL("inproc:")))
		d.park(failedQueue, "a", "b")
		r := newRedrive(d, time.Hour)
		done := make(chan error)
		go func() { done <- r.run(t.Context()) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		d.expect(failedQueue, "a")
		d.expect(deadQueue, "b") // nobody holds it
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		d.expect(failedQueue, "a", "b")
	})
}

func TestRedriveStopsBetweenMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, brokerAt(config.BrokerURL("inproc:")))
		d.park(failedQueue, "a", "b", "c")
		r := newRedrive(d, time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.run(ctx) }()
		time.Sleep(90 * time.Second)
		stop()
		if err := <-done; err == nil || err.Error() != "interrupted; 2 of 3 redriven, the rest stays parked" {
			t.Errorf("%v", err)
		}
		d.expect(failedQueue, "a", "b")
		d.expect(deadQueue, "c")
	})
}

func TestRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1/s": time.Second, "20/s": 50 * time.Millisecond, "4": 250 * time.Millisecond, "5/m": 12 * time.Second, "0.5/h": 2 * time.Hour,
	} {
		var r rate
		if err := r.UnmarshalText([]byte(text)); err != nil || r.every != want {
			t.Errorf("%s is one in %s, %v", text, r.every, err)
		}
	}
	for _, text := range []string{"", "0", "-1/s", "NaN", "1/d", "x/s", "1/s/s", "1e9"} {
		if err := new(rate).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a rate", text)
		}
	}
}

func TestWriteLetter(t *testing.T) {
	t.Parallel()
	l := messaging.DeadLetter{
		Queue: failedQueue, Key: "b1", Reason: "no\x1b[31m such\nthing\there", Attempts: 3, TraceID: parkedTrace, Service: "seats",
		ParkedAt: time.Now().Add(-3 * time.Hour).UTC(),
		Message: messaging.Message{
			ID: "b1.PaymentFailed", Type: "PaymentFailed", AppID: "payments", ContentType: "application/json",
			Headers: map[string]any{"text": "a\x07b", "bytes": []byte("raw"), "n": int64(3), "x-death": []any{map[string]any{"reason": "expired"}}},
			Body:    []byte(`{"bookingId":"b1","seat":5}`),
		},
	}
	var out strings.Builder
	if err := writeLetter(&out, l); err != nil {
		t.Fatal(err)
	}
	want := `^seats\.PaymentFailed\.dead
  message +b1\.PaymentFailed
  type +PaymentFailed
  from +payments
  booking +b1
  trace +0af7651916cd43dd8448eb211c80319c
  parked +\S+Z, 3h ago, by seats
  attempts +3
  reason +no�\[31m such
          +thing here
  headers +
    bytes +raw
    n +3
    text +a�b
    x-death +\[\{"reason":"expired"\}\]
  body, 27 bytes, application/json
    \{
      "bookingId": "b1",
      "seat": 5
    \}
$`
	if !regexp.MustCompile(want).MatchString(out.String()) {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	for body, want := range map[string]string{
		"":                    "",
		"plain\r\n\ttext":     "plain\n    text",
		"a\x00b":              "00000000  61 00 62                                          |a.b|\n",
		"\xff":                "00000000  ff                                                |.|\n",
		"{\"a\": \"\u009b\"}": "{\n  \"a\": \"�\"\n}",
	} {
		if got := bodyText([]byte(body)); got != want {
			t.Errorf("%q is shown as %q, want %q", body, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", 61 * time.Minute: "1h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := age(time.Now().Add(-d)); got != want {
			t.Errorf("%s ago is %s, want %s", d, got, want)
		}
	}
	if got := age(time.Time{}); got != "?" {
		t.Errorf("an unknown age is %s", got)
	}
}
