package booking

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/baggage"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// slow holds a saga up by 7 s, in which each service has its part.
const slow = "seats.BookingCreated=fail, payments.SeatReserved=delay:2s, booking.PaymentSucceeded=delay:4s"

// room is how many bytes of other baggage fit beside a script.
func room(t *testing.T, text string) int {
	t.Helper()
	script, err := lab.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := lab.With(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	return lab.MaxBaggage - len(baggage.FromContext(ctx).String()) - len(",")
}

// own is the baggage header of a client, with so many members, so long together.
func own(members, bytes int) string {
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf("k%d=", i))
	}
	text := strings.Join(all, ",")
	return "Baggage: " + text + strings.Repeat("x", bytes-len(text))
}

// play plays seats and payments, who obey fault scripts, until the test ends.
func (r *rig) play() {
	r.t.Helper()
	consume := func(service string, handlers ...messaging.Handler) {
		conn := r.server.Connect(service)
		p, err := messaging.NewPublisher(conn, tickets.System(r.cfg.RetryDelays), service, messaging.Instruments{})
		if err != nil {
			r.t.Fatal(err)
		}
		c, err := messaging.NewConsumer(conn, p, messaging.ConsumerConfig{
			Middleware: []messaging.Middleware{lab.Faults{Log: r.log}.Middleware},
		}, messaging.Instruments{}, handlers...)
		if err != nil {
			r.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(r.t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		r.t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				r.t.Errorf("%s: %v", service, err)
			}
			_ = conn.Close(context.Background())
		})
	}
	consume(tickets.Seats, messaging.On(func(_ context.Context, e tickets.BookingCreated) ([]messaging.Event, error) {
		return []messaging.Event{tickets.SeatReserved{BookingID: e.BookingID, Seat: e.Seat, Amount: e.Amount}}, nil
	}), messaging.On(func(context.Context, tickets.PaymentFailed) ([]messaging.Event, error) { return nil, nil }))
	consume(tickets.Payments, messaging.On(func(_ context.Context, e tickets.SeatReserved) ([]messaging.Event, error) {
		return []messaging.Event{tickets.PaymentSucceeded{BookingID: e.BookingID}}, nil
	}))
}

// A script with as much other baggage as there may be is obeyed by every service.
func TestAScriptBesideMuchBaggageIsObeyedToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		r.play()
		for name, header := range map[string]string{
			"none":         "Baggage: ",
			"the longest":  own(1, room(t, slow)),
			"most members": own(63, 1000),
			"both":         own(63, room(t, slow)),
		} {
			w := r.post(t.Context(), 5, "X-Lab-Fault: "+slow, header)
			if w.Code != http.StatusAccepted {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
				continue
			}
			time.Sleep(10 * time.Second)
			b := r.get(decode[bookingJSON](t, w).ID)
			if took := b.UpdatedAt.Sub(b.CreatedAt); b.Status != Confirmed || took.Round(100*time.Millisecond) != 7*time.Second {
				t.Errorf("%s: %s after %s", name, b.Status, took)
			}
		}
	})
}

// A script is refused if it would be lost among the request's own baggage.
func TestAScriptBesideTooMuchBaggageIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		r := newRig(t, cfg)
		stop := r.run()
		fits := room(t, slow)
		for name, headers := range map[string][]string{
			"a byte too long":         {own(1, fits+1)},
			"one too many":            {own(64, 1000)},
			"too many by themselves":  {own(100, 1000)},
			"too long by itself":      {own(1, 9000)},
			"too long in two headers": {own(1, 5000), "Baggage: other=" + strings.Repeat("x", 5000)},
		} {
			w := r.post(t.Context(), 5, append(headers, "X-Lab-Fault: "+slow)...)
			expectProblem(t, name, w, http.StatusUnprocessableEntity, []string{"X-Lab-Fault"})
			if p := decode[httpserver.Problem](t, w); !strings.Contains(w.Body.String(), "with the request's own baggage it is too long") ||
				p.Type != httpserver.TypeValidation || p.Title != "Wrong fault script" {
				t.Errorf("%s: %s", name, w.Body)
			}
			if w := r.post(t.Context(), 5, headers...); w.Code != http.StatusAccepted {
				t.Errorf("%s, without a script: %d %s", name, w.Code, w.Body)
			}
		}
		if s := r.door.Stats(); s.Accepted != 5 || len(decode[pageJSON](t, r.do(http.MethodGet, "/bookings", "")).Bookings) != 5 {
			t.Errorf("refused bookings were stored: %+v", s)
		}
		stop()
		cfg.Lab = false
		r = restart(t, cfg, r)
		r.run()
		if w := r.post(t.Context(), 5, own(1, fits+1), "X-Lab-Fault: "+slow); w.Code != http.StatusAccepted {
			t.Errorf("without the lab: %d %s", w.Code, w.Body)
		}
	})
}
