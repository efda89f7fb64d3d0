package e2e_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// wanted is a span of the cancelled booking: its name, the service it is of,
// and the name of its parent.
type wanted struct{ name, service, parent string }

const (
	postBookings    = "POST /bookings"
	publishCreated  = "publish tickets.events BookingCreated"
	processCreated  = "process seats.BookingCreated"
	publishReserved = "publish tickets.events SeatReserved"
	processReserved = "process payments.SeatReserved"
	publishFailed   = "publish tickets.events PaymentFailed"
	publishReleased = "publish tickets.events SeatReleased"
	seatsFailed     = "process seats.PaymentFailed"
	bookingFailed   = "process booking.PaymentFailed"
	bookingReleased = "process booking.SeatReleased"
)

var cancelled = []wanted{
	{postBookings, "booking", ""},
	{publishCreated, "booking", postBookings},
	{processCreated, "seats", publishCreated},
	{publishReserved, "seats", processCreated},
	{processReserved, "payments", publishReserved},
	{publishFailed, "payments", processReserved},
	{bookingFailed, "booking", publishFailed},
	{seatsFailed, "seats", publishFailed},
	{publishReleased, "seats", seatsFailed},
	{bookingReleased, "booking", publishReleased},
}

// The cancelled booking is one trace over three processes and a real broker.
func TestTrace(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := newStack(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+c.address, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_BSP_SCHEDULE_DELAY=100")
	b := s.book(client.Wish{Seat: 7, Customer: "ivan", Amount: tickets.MustAmount("1500")})
	if b.Status != "Cancelled" {
		t.Fatalf("the booking is %s", b.Status)
	}
	spans := c.trace(t, b.TraceID, len(cancelled))
	if len(spans) != len(cancelled) {
		t.Errorf("the trace has %d spans", len(spans))
	}
	for _, w := range cancelled {
		t.Run(w.name, func(t *testing.T) {
			got, ok := spans[w.name]
			if !ok {
				t.Fatal("it is missing")
			}
			if got.service() != w.service {
				t.Errorf("it is of %v", got.service())
			}
			if string(got.GetParentSpanId()) != string(spans[w.parent].GetSpanId()) {
				t.Errorf("its parent is not %q", w.parent)
			}
			if got.GetStartTimeUnixNano() > got.GetEndTimeUnixNano() || got.GetStatus().GetCode() == 2 {
				t.Errorf("it ran from %d to %d and ended with %s", got.GetStartTimeUnixNano(), got.GetEndTimeUnixNano(), got.GetStatus())
			}
			has(t, got.resource, map[string]any{"service.namespace": "boxoffice", "service.instance.id": "only", "telemetry.sdk.language": "go"})
			checkSpan(t, w.name, got, b.ID)
		})
	}
	s.endWell()
}

// book makes a booking and waits until it is finished.
func (s *stack) book(w client.Wish) client.Booking {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	b, err := s.client.Book(ctx, w)
	if err != nil {
		s.t.Fatal(err)
	}
	if b, err = s.client.Finish(ctx, b); err != nil {
		s.t.Fatal(err)
	}
	return b
}

// checkSpan checks the kind and the attributes that OpenTelemetry's semantic
// conventions ask for.
func checkSpan(t *testing.T, name string, got span, booking string) {
	t.Helper()
	var kind string
	words := strings.Fields(name)
	switch words[0] {
	case "POST":
		kind = "SPAN_KIND_SERVER"
		has(t, got.attributes, map[string]any{
			"http.request.method": "POST", "http.route": "/bookings", "http.response.status_code": int64(202),
			"url.path": "/bookings", "url.scheme": "http", "server.address": "127.0.0.1", "network.protocol.version": "1.1",
		})
	case "publish":
		kind = "SPAN_KIND_PRODUCER"
		event := words[2]
		isMessaging(t, got.attributes, event, booking)
		has(t, got.attributes, map[string]any{
			"messaging.operation.name": "publish", "messaging.operation.type": "send",
			"messaging.destination.name": "tickets.events:" + event,
		})
	case "process":
		kind = "SPAN_KIND_CONSUMER"
		_, event, _ := strings.Cut(words[1], ".")
		isMessaging(t, got.attributes, event, booking)
		has(t, got.attributes, map[string]any{
			"messaging.operation.name": "process", "messaging.operation.type": "process",
			"messaging.destination.name": "tickets.events:" + event + ":" + words[1],
			"boxoffice.queue":            words[1], "boxoffice.attempt": int64(1),
		})
	}
	if got.GetKind().String() != kind {
		t.Errorf("its kind is %s", got.GetKind())
	}
}

func isMessaging(t *testing.T, attributes map[string]any, event, booking string) {
	t.Helper()
	has(t, attributes, map[string]any{
		"messaging.system": "rabbitmq", "messaging.rabbitmq.destination.routing_key": event,
		"messaging.message.id": booking + "." + event, "messaging.message.conversation_id": booking,
	})
	if size, ok := attributes["messaging.message.body.size"].(int64); !ok || size < 50 {
		t.Errorf("messaging.message.body.size is %v", attributes["messaging.message.body.size"])
	}
}

func has(t *testing.T, attributes, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if attributes[name] != value {
			t.Errorf("%s is %v, not %v", name, attributes[name], value)
		}
	}
}

// Every log line of a booking has its trace id, in JSON and in text.
func TestLogs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.stop(tickets.Payments)
	s.env[tickets.Payments] = append(s.env[tickets.Payments], "LOG_FORMAT=text")
	s.start(tickets.Payments)
	s.ready()
	b := s.book(client.Wish{Seat: 7, Customer: "ivan", Amount: tickets.MustAmount("1500")})
	s.endWell()

	for service, want := range map[string][]string{
		tickets.Booking: {"→ BookingCreated", "← PaymentFailed", "← SeatReleased"},
		tickets.Seats:   {"← BookingCreated", "→ SeatReserved", "← PaymentFailed", "→ SeatReleased"},
	} {
		said := map[string]bool{}
		for line := range strings.Lines(s.programs[service].stderr()) {
			var got struct {
				Time, Level, Msg, Service, Instance, Booking string

				TraceID string `json:"trace_id"`
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Time == "" || got.Level == "" || got.Service != service || got.Instance != "only" {
				t.Errorf("%s says %s%v", service, line, err)
			}
			if strings.Contains(line, b.ID) && (got.Booking != b.ID || got.TraceID != b.TraceID) {
				t.Errorf("%s says %s", service, line)
			}
			said[got.Msg] = true
		}
		for _, msg := range want {
			if !said[msg] {
				t.Errorf("%s does not say %s", service, msg)
			}
		}
	}
	text := s.programs[tickets.Payments].stderr()
	for _, msg := range []string{"← SeatReserved", "→ PaymentFailed"} {
		want := `(?m)^\d\d:\d\d:\d\d\.\d{3} INF ` + msg + " booking=" + b.ID + " seat=7 .*trace_id=" + b.TraceID + "$"
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("payments says no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("there is colour in a file:\n%q", text)
	}
}
