package experiment

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/client"
	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Publish publishes an event of a booking that its service did not mean to, in
// the booking's trace, and with a fault script or "".
func (s *Stage) Publish(ctx context.Context, b client.Booking, service string, e messaging.Event, script string) error {
	with := ""
	if script != "" {
		with = ", with the fault script " + script
	}
	s.Say("a stranger publishes %s of %s's booking%s", messaging.EventName(e), b.Customer, with)
	ctx = inTrace(ctx, b.TraceID)
	if script != "" {
		faults, err := lab.Parse(script)
		if err != nil {
			return fmt.Errorf("fault script: %w", err)
		}
		if ctx, err = lab.With(ctx, faults); err != nil {
			return err
		}
	}
	p, err := messaging.NewPublisher(s.Broker, tickets.System(nil), service, messaging.Instruments{})
	if err != nil {
		return err
	}
	return p.Publish(ctx, e)
}

// inTrace lets what follows appear in a trace.
func inTrace(ctx context.Context, id string) context.Context {
	traceID, err := trace.TraceIDFromHex(id)
	if err != nil {
		return ctx
	}
	var span trace.SpanID
	_, _ = rand.Read(span[:]) // never fails
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

// created is the first event of a booking, again.
func created(b client.Booking) (tickets.BookingCreated, error) {
	id, err := uuid.Parse(b.ID)
	return tickets.BookingCreated{BookingID: id, Seat: b.Seat, Customer: b.Customer, Amount: b.Amount}, err
}

// declined is the event of a card that does not pay.
func declined(b client.Booking) (tickets.PaymentFailed, error) {
	id, err := uuid.Parse(b.ID)
	return tickets.PaymentFailed{BookingID: id, Seat: b.Seat, Reason: "insufficient funds"}, err
}
