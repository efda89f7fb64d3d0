package lab

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/tickets"
)

// held is a service whose bank is away for the first three tries of a message,
// and what a fault made of that message. Times are virtual.
type held struct {
	log   bytes.Buffer
	began time.Time
	tries []time.Duration         // when the handler was called
	spans []sdktrace.ReadOnlySpan // one for each delivery
	paid  int                     // outcomes published
}

// holds handles a booking with this fault until nothing happens any more.
func holds(t *testing.T, action string) *held {
	t.Helper()
	script, err := Parse("payments.SeatReserved=" + action)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := With(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	delays := []time.Duration{time.Second}
	server := inproc.New(inproc.Options{})
	conn := server.Connect(tickets.Payments)
	if err := conn.Declare(ctx, tickets.Topology(delays), messaging.TopologyDeclare); err != nil {
		t.Fatal(err)
	}
	h := &held{}
	recorder := tracetest.NewSpanRecorder()
	i := messaging.Instruments{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))}
	anybody, err := messaging.NewPublisher(conn, tickets.WithAnybody("anybody", delays), "anybody", messaging.Instruments{})
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := messaging.NewPublisher(conn, tickets.System(delays), tickets.Payments, i)
	if err != nil {
		t.Fatal(err)
	}
	c, err := messaging.NewConsumer(conn, publisher, messaging.ConsumerConfig{
		RenewAfter: RenewAfter,
		Middleware: []messaging.Middleware{Faults{Log: slog.New(slog.NewTextHandler(&h.log, nil))}.Middleware},
	}, i, messaging.On(func(_ context.Context, e tickets.SeatReserved) ([]messaging.Event, error) {
		h.tries = append(h.tries, time.Since(h.began))
		if len(h.tries) <= 3 {
			return nil, messaging.Unavailable(errors.New("the bank is away"))
		}
		return []messaging.Event{tickets.PaymentSucceeded{BookingID: e.BookingID}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(running) }()
	h.began = time.Now()
	if err := anybody.Publish(ctx, tickets.SeatReserved{BookingID: uuid.New(), Seat: 5, Amount: tickets.MustAmount("450")}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	h.paid, _ = server.Depth("booking.PaymentSucceeded")
	stop()
	if err := errors.Join(<-done, conn.Close(context.Background())); err != nil {
		t.Error(err)
	}
	for _, s := range recorder.Ended() {
		if s.Name() == "process payments.SeatReserved" {
			h.spans = append(h.spans, s)
		}
	}
	return h
}

// A fault strikes a delivery once, however often that is tried in place.
func TestAFaultStrikesADeliveryOnce(t *testing.T) {
	for action, want := range map[string]struct{ deliveries, tries, strikes, paid int }{
		"delay:1s":             {1, 4, 1, 1},
		"duplicate":            {1, 4, 1, 2},
		"drop":                 {2, 5, 1, 1},
		"drop*2":               {3, 6, 2, 1},
		"drop-after-publish":   {2, 5, 1, 2},
		"drop-after-publish*2": {3, 6, 2, 3},
		"exit":                 {2, 5, 1, 1},
		"fail":                 {2, 4, 1, 1},
		"poison":               {1, 0, 1, 0},
	} {
		t.Run(action, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := holds(t, action)
				strikes := 0
				for i, s := range h.spans {
					mine := 0
					for _, e := range s.Events() {
						if e.Name == "fault injected" {
							mine++
						}
					}
					if strikes += mine; mine > 1 {
						t.Errorf("delivery %d has the event %d times", i+1, mine)
					}
				}
				if len(h.spans) != want.deliveries || len(h.tries) != want.tries || strikes != want.strikes || h.paid != want.paid {
					t.Errorf("%d deliveries, %d tries, %d strikes and %d outcomes, want %+v", len(h.spans), len(h.tries), strikes, h.paid, want)
				}
				if n := strings.Count(h.log.String(), "fault injected"); n != want.strikes {
					t.Errorf("it logs %d strikes:\n%s", n, h.log.String())
				}
			})
		})
	}
}

// A delay is as long as it says, and no longer where the handler is held.
func TestADelayIsWaitedOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pauses = 700 * time.Millisecond // 100, 200 and 400 ms at most
		h := holds(t, "delay:1s")
		if n := len(h.tries); n != 4 || h.tries[0] != time.Second || h.tries[3] > time.Second+pauses {
			t.Errorf("the handler is called after %v", h.tries)
		}
	})
}
