package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/messaging"
)

// explainCmd says where a booking stands.
type explainCmd struct {
	targets

	BookingID string           `arg:"" help:"The id of the booking."`
	BrokerURL config.BrokerURL `type:"setting" env:"BROKER_URL" placeholder:"URL" help:"The RabbitMQ broker, for parked messages; without it a running boxoffice up is asked."`
	Timeout   time.Duration    `default:"10s" help:"How long to wait for a broker that cannot be reached."`
}

// Help shows examples.
func (*explainCmd) Help() string {
	return `It reads the booking's rows in the three services, and looks whether a message of it is parked. Work queues are not
looked into: that would count as a delivery.

Examples:

  boxoffice explain 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice explain 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c`
}

// Run explains.
func (e *explainCmd) Run(ctx context.Context, c console) error {
	urls, err := e.find()
	if err != nil {
		return err
	}
	booking, seats, payments, err := connect(urls)
	if err != nil {
		return err
	}
	defer booking.Close()
	defer seats.Close()
	defer payments.Close()
	var f facts
	f.booking, err = booking.Booking(ctx, e.BookingID)
	if p, refused := errors.AsType[*client.ProblemError](err); refused && p.Status == http.StatusNotFound {
		return fmt.Errorf("there is no booking %q at %s: a door that answered 429 or 503 has kept nothing", e.BookingID, urls.Booking)
	}
	if err != nil {
		return startFirst(err)
	}
	f.reservation = f.row(ctx, seats, "reservations/")
	f.payment = f.row(ctx, payments, "payments/")
	f.note(messaging.Booking, booking.Get(ctx, "stats", &f.door))
	if f.parked, err = e.parked(ctx, f.booking.ID); err != nil {
		f.unlooked = err.Error()
	}
	var answer traceJSON
	if booking.Get(ctx, "lab/traces/"+f.booking.TraceID, &answer) == nil { // else it is no boxoffice up, and nobody knows
		for _, s := range answer.Spans {
			f.spans = append(f.spans, s.span())
		}
	}
	fmt.Fprintln(c.out, strings.Join(f.explain(time.Now()), "\n"))
	return nil
}

// parked is the booking's parked messages, from the broker or from a running up.
func (e *explainCmd) parked(ctx context.Context, id string) ([]messaging.DeadLetter, error) {
	if e.BrokerURL == "" || e.BrokerURL.InProcess() {
		return parkedAtUp{e.URL}.List(ctx, id)
	}
	b, err := brokerAt(e.BrokerURL).connect(operatorName, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("BROKER_URL: %w", err)
	}
	defer closeBroker(ctx, b)
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	return parkedOn(b).List(ctx, id)
}

// row is the booking's row in a service; nil if it has none, or nobody knows.
func (f *facts) row(ctx context.Context, p part, path string) *serviceRow {
	var r serviceRow
	err := p.Get(ctx, path+f.booking.ID, &r)
	if problem, ok := errors.AsType[*client.ProblemError](err); ok && problem.Status == http.StatusNotFound {
		return nil
	}
	if f.note(p.name, err); err != nil {
		return nil
	}
	return &r
}

// note remembers that a service did not answer.
func (f *facts) note(service string, err error) {
	if err == nil {
		return
	}
	if f.silent == nil {
		f.silent = map[string]string{}
	}
	f.silent[service] = err.Error()
}
