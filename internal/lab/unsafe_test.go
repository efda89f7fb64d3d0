package lab

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// recorder is a broker that notes what is asked of it, and fails if told so.
type recorder struct {
	messaging.Broker
	down, broken error
	asked        []string
	delivery     *messaging.Delivery
}

func (r *recorder) Ready() error                { return r.down }
func (r *recorder) Close(context.Context) error { return nil }

func (r *recorder) Publish(_ context.Context, exchange, key string, _ messaging.Message) error {
	r.asked = append(r.asked, exchange+" "+key)
	return r.broken
}

func (r *recorder) Consume(ctx context.Context, s messaging.Subscription) error {
	s.Handle(ctx, r.delivery)
	return nil
}

// settler notes how a delivery is settled.
type settler struct {
	asked *[]string
	lost  error
}

func (s settler) Ack() error {
	*s.asked = append(*s.asked, "ack")
	return s.lost
}

func (s settler) Lose() { *s.asked = append(*s.asked, "lose") }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestOnlyMessagingIsWrapped(t *testing.T) {
	r := &recorder{}
	for _, u := range append(Unsafes(), "") {
		wrapped := u.Broker(r, quiet()) != messaging.Broker(r)
		if want := slices.Contains([]Unsafe{NoConfirm, AckFirst, RequeueNow}, u); wrapped != want {
			t.Errorf("%q wraps the broker: %v", u, wrapped)
		}
		if (u == "") != (u.Consequence() == "") {
			t.Errorf("%q says %q", u, u.Consequence())
		}
	}
}

func TestNoConfirmNeverFails(t *testing.T) {
	for name, r := range map[string]*recorder{
		"away":    {down: errors.New("the broker is away")},
		"refuses": {broken: messaging.ErrUnroutable},
		"works":   {},
	} {
		var text bytes.Buffer
		b := NoConfirm.Broker(r, slog.New(slog.NewTextHandler(&text, nil)))
		err := b.Publish(t.Context(), tickets.ExchangeEvents, "BookingCreated", messaging.Message{CorrelationID: "b1"})
		if closing := b.Close(t.Context()); err != nil || closing != nil {
			t.Errorf("%s: %v, %v", name, err, closing)
		}
		if lost := strings.Contains(text.String(), "a message is lost"); lost != (name != "works") {
			t.Errorf("%s: it logs %q", name, text.String())
		}
		if sent := len(r.asked) == 1; sent != (name != "away") {
			t.Errorf("%s: published %v", name, r.asked)
		}
	}
}

func TestAckFirst(t *testing.T) {
	for _, lost := range []error{nil, errors.New("the session is lost")} {
		r := &recorder{}
		r.delivery = &messaging.Delivery{Settler: settler{&r.asked, lost}}
		err := AckFirst.Broker(r, quiet()).Consume(t.Context(), messaging.Subscription{
			Handle: func(_ context.Context, d *messaging.Delivery) {
				r.asked = append(r.asked, "handle")
				if err := d.Settler.Ack(); err != nil {
					t.Error(err)
				}
				d.Settler.Lose()
			},
		})
		want := []string{"ack", "handle", "lose"}
		if lost != nil {
			want = want[:1]
		}
		if err != nil || !slices.Equal(r.asked, want) {
			t.Errorf("%v, want %v (%v)", r.asked, want, err)
		}
	}
}

func TestRequeueNow(t *testing.T) {
	r := &recorder{}
	b := RequeueNow.Broker(r, quiet())
	for _, exchange := range []string{tickets.ExchangeRetry, tickets.ExchangeEvents, tickets.ExchangeDead} {
		if err := b.Publish(t.Context(), exchange, "1000ms.seats.BookingCreated", messaging.Message{}); err != nil {
			t.Error(err)
		}
	}
	want := []string{"tickets.redeliver 1000ms.seats.BookingCreated", "tickets.events 1000ms.seats.BookingCreated", "tickets.dead 1000ms.seats.BookingCreated"}
	if !slices.Equal(r.asked, want) {
		t.Errorf("published %q", r.asked)
	}
	r.broken = messaging.ErrUnroutable
	if err := b.Publish(t.Context(), tickets.ExchangeEvents, "x", messaging.Message{}); !errors.Is(err, messaging.ErrUnroutable) {
		t.Errorf("its error is %v", err)
	}
}

// A message that is requeued is the same attempt each time, until it came back as
// often as a broker allows; one that waits without having failed is not parked.
func TestRequeuedUntilTheDeliveryLimit(t *testing.T) {
	const key, queue = "1000ms.seats.BookingCreated", "seats.BookingCreated"
	failed := func(headers map[string]any) messaging.Message { // as the consumer sends it to wait
		m := messaging.Message{Headers: maps.Clone(headers)}
		m.Headers[messaging.HeaderAttempt] = int64(m.Attempt() + 1)
		return m
	}
	headers := map[string]any{"tenant": "red"}
	for n := range messaging.WorkDeliveryLimit {
		exchange, to, m := requeued(key, failed(headers))
		if exchange != tickets.ExchangeRedeliver || to != key || m.Attempt() != 1 {
			t.Fatalf("time %d: to %s %s, as attempt %d", n+1, exchange, to, m.Attempt())
		}
		headers = m.Headers
	}
	exchange, to, m := requeued(key, failed(headers))
	if exchange != tickets.ExchangeDead || to != queue || m.Header("tenant") != "red" || m.Headers[headerRequeues] != nil ||
		!strings.Contains(m.Header(messaging.HeaderReason), "it came back 20 times") {
		t.Errorf("then to %s %s with %v", exchange, to, m.Headers)
	}
	headers[messaging.HeaderDelivered] = int64(3)
	if exchange, to, m := requeued(key, messaging.Message{Headers: headers}); exchange != tickets.ExchangeRedeliver || to != key || m.Attempt() != 1 {
		t.Errorf("one that waits as the same attempt: to %s %s, as attempt %d", exchange, to, m.Attempt())
	}
}

func TestWarn(t *testing.T) {
	for _, u := range append(Unsafes(), "") {
		var text bytes.Buffer
		u.Warn(t.Context(), slog.New(slog.NewTextHandler(&text, nil)))
		loud := strings.Contains(text.String(), "level=WARN") && strings.Contains(text.String(), "UNSAFE="+string(u)+": A SAFETY IS OFF")
		if loud != (u != "") {
			t.Errorf("%q logs %q", u, text.String())
		}
	}
}
