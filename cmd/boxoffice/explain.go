package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// explainCmd says where a booking stands.
type explainCmd struct {
	targets
	jaegerURL

	BookingID string           `arg:"" type:"given" help:"The id of the booking."`
	BrokerURL config.BrokerURL `type:"setting" env:"BROKER_URL" placeholder:"URL" help:"The RabbitMQ broker, for parked messages; without it a running boxoffice up is asked."`
	Timeout   time.Duration    `default:"3s" help:"How long to wait for a broker that cannot be reached, and for Jaeger."`
}

// Help shows examples.
func (*explainCmd) Help() string {
	return `It reads the booking's rows in the three services, and looks whether a message of it is parked. Work queues are not
looked into: that would count as a delivery. Whether a copy of its message waits for another attempt, the booking's trace
says: in Jaeger, if it is named, or at a running boxoffice up.

Examples:

  boxoffice explain 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice explain 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  JAEGER_URL=http://localhost:16686 boxoffice explain 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c`
}

// Check says what is missing. One service's address is enough to say something.
func (e *explainCmd) Check() error {
	_, err := e.some()
	return err
}

// Run explains.
func (e *explainCmd) Run(ctx context.Context, c console) error {
	urls, err := e.some()
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
	f := facts{up: e.up()}
	asking, cancel := booking.soon(ctx)
	defer cancel()
	f.booking, err = booking.Booking(asking, e.BookingID)
	if p, refused := errors.AsType[*client.ProblemError](err); refused && p.Status == http.StatusNotFound {
		return noBooking(e.BookingID, booking.Client, ": a door that answered 429 or 503 has kept nothing")
	}
	if err != nil {
		return startFirst(err)
	}
	f.reservation = f.row(ctx, seats, "reservations/")
	f.payment = f.row(ctx, payments, "payments/")
	f.note(tickets.Booking, booking.get(ctx, "stats", &f.door))
	if f.booking.Finished() { // what is parked matters little to it: it is not waited for
		e.Timeout = min(e.Timeout, time.Second)
	}
	var following sync.WaitGroup
	if !f.booking.Finished() {
		following.Go(func() { f.trail = e.follow(ctx, booking, f.booking.TraceID) })
	}
	f.parked, f.unlooked = e.parked(ctx, c, f.booking.ID)
	following.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintln(c.out, strings.Join(f.explain(time.Now()), "\n"))
	return nil
}

// parked is the booking's parked messages, from the broker or from a running up,
// and why nobody knows whether there are some.
func (e *explainCmd) parked(ctx context.Context, c console, id string) (letters []messaging.DeadLetter, unlooked string) {
	letters, others, err := readParked(ctx, c, deadFrom{BrokerURL: e.BrokerURL, Timeout: e.Timeout}, e.up(), deadWhich{ID: id})
	switch {
	case err != nil:
		unlooked = oneLine(err)
	case len(letters) == 0 && len(others) > 0:
		unlooked = "it may be one of those that " + others.String()
	}
	return letters, unlooked
}

// up is the running up whose own broker is looked into; "" if it is RabbitMQ.
func (e *explainCmd) up() string {
	if e.BrokerURL == "" || e.BrokerURL.InProcess() {
		return e.URL
	}
	return ""
}

// noBooking says that an id is unknown, or why it can be none.
func noBooking(id string, at *client.Client, more string) error {
	if isTraceID(id) {
		return fmt.Errorf("%s is a trace id, not a booking's: the lines with this trace_id in the logs of the services name its booking", id)
	}
	return fmt.Errorf("there is no booking %q at %s%s", id, at, more)
}

// isTraceID is whether text is 32 hexadecimal digits, which no booking's id is as boxoffice writes it.
func isTraceID(text string) bool {
	_, err := trace.TraceIDFromHex(text)
	return err == nil
}

// row is the booking's row in a service; nil if it has none, or nobody knows.
func (f *facts) row(ctx context.Context, p part, path string) *serviceRow {
	if p.Client == nil {
		f.silence(p.name, "is not asked: --"+p.name+"-url says where it is")
		return nil
	}
	var r serviceRow
	err := p.get(ctx, path+f.booking.ID, &r)
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
	if err != nil {
		f.silence(service, "does not answer: "+oneLine(err))
	}
}

func (f *facts) silence(service, why string) {
	if f.silent == nil {
		f.silent = map[string]string{}
	}
	f.silent[service] = why
}
