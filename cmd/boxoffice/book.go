package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// bookCmd makes one booking.
type bookCmd struct {
	bookingURL

	Seat     int            `required:"" placeholder:"N" help:"The seat's number."`
	Customer string         `required:"" placeholder:"NAME" help:"Who books."`
	Amount   tickets.Amount `required:"" placeholder:"A" help:"What is to be paid, with at most two decimals."`
	Fault    string         `type:"given" placeholder:"SCRIPT" help:"A fault script for this booking, where the lab is on."`
	Timeout  time.Duration  `default:"2m" help:"How long to wait for the outcome."`

	JaegerURL string `name:"jaeger-url" env:"JAEGER_URL" placeholder:"URL" help:"Jaeger, for a link to the booking's trace."`
}

// Help shows examples.
func (*bookCmd) Help() string {
	return `It exits with 0 whatever the outcome is, with 1 if there is none, and with 2 if --fault is given and the lab is off.

Examples:

  boxoffice book --seat 5 --customer olena --amount 450
  boxoffice book --seat 7 --customer ivan --amount 1500.50 --url http://127.0.0.1:6200
  boxoffice book --seat 5 --customer olena --amount 450 --fault 'seats.BookingCreated=fail*2, payments.SeatReserved=drop'
  JAEGER_URL=http://localhost:16686 boxoffice book --seat 8 --customer maria --amount 90`
}

// Run books and waits for the outcome.
func (b *bookCmd) Run(ctx context.Context, c console) error {
	service, err := client.New(b.URL)
	if err != nil {
		return err
	}
	defer service.Close()
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	if b.Fault != "" {
		err := part{tickets.Booking, service}.labOn(ctx) // else the script would be ignored
		if errors.Is(err, errLabOff) {
			err = &codedError{fmt.Errorf("--fault: %w", err), exitUsage}
		}
		if err != nil {
			return err
		}
	}
	done, err := book(ctx, service, client.Wish{Seat: b.Seat, Customer: b.Customer, Amount: b.Amount, Fault: b.Fault}, b.waits(c))
	if err != nil {
		return b.goesOn(err, done.ID)
	}
	fmt.Fprintln(c.out, done)
	fmt.Fprintln(c.out, "booking", done.ID)
	fmt.Fprintln(c.out, "trace", traceAt(b.JaegerURL, done.TraceID))
	return nil
}

// goesOn says how to see what becomes of a booking whose outcome did not come.
func (b *bookCmd) goesOn(err error, id string) error {
	if id == "" {
		return err
	}
	if i, ok := errors.AsType[*interruptedError](err); ok {
		return &interruptedError{goesOn: i.goesOn + "; " + b.where(id)}
	}
	return fmt.Errorf("%w\n%s", err, b.where(id))
}

func (b *bookCmd) where(id string) string {
	return "where it stands: boxoffice explain " + id + urlFlag(b.URL)
}

// quietWait is how long a booking may take before there is a line about it.
const quietWait = 2 * time.Second

// waits shows that a booking takes long.
func (b *bookCmd) waits(c console) func(id string) (stop func()) {
	return func(id string) func() {
		began := time.Now()
		return showProgress(c.err, func() string {
			took := time.Since(began)
			if took < quietWait {
				return ""
			}
			return fmt.Sprintf("booking %s is not finished after %d s; %s", id, int(took.Seconds()), b.where(id))
		}).stop
	}
}

// traceAt is the page of a trace in Jaeger, or without Jaeger its id.
func traceAt(jaeger, id string) string {
	if jaeger == "" {
		return id
	}
	return strings.TrimRight(jaeger, "/") + "/trace/" + id
}

// booked is a booking whose outcome is in.
type booked struct {
	client.Booking
	took time.Duration // as its client saw it
}

func (b booked) String() string {
	line := fmt.Sprintf("%-5s  seat %d  %-9s  %5d ms", b.Customer, b.Seat, b.Status, b.took.Milliseconds())
	if b.Reason != "" {
		line += "  " + b.Reason
	}
	return line
}

// book makes a booking and waits for its outcome, and calls waits meanwhile. Its
// errors say what to do.
func book(ctx context.Context, c *client.Client, w client.Wish, waits func(id string) (stop func())) (booked, error) {
	began := time.Now()
	accepted, err := c.Book(ctx, w)
	switch unknown := "it may have booked all the same: GET /bookings lists what there is"; {
	case errors.Is(err, client.ErrUnanswered), unknownOutcome(err):
		return booked{}, fmt.Errorf("%w; %s", err, unknown)
	case errors.Is(err, context.Canceled):
		return booked{}, &interruptedError{goesOn: "the service had not answered, and " + unknown}
	case err != nil:
		return booked{}, startFirst(err)
	}
	stop := waits(accepted.ID)
	done, err := c.Finish(ctx, accepted)
	stop()
	took := time.Since(began)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return booked{done, took}, fmt.Errorf("booking %s is still %s after %s (trace %s)", done.ID, done.Status, took.Round(time.Millisecond), done.TraceID)
	case errors.Is(err, context.Canceled):
		return booked{done, took}, &interruptedError{goesOn: fmt.Sprintf("booking %s goes on (trace %s)", done.ID, done.TraceID)}
	case err != nil:
		return booked{done, took}, fmt.Errorf("booking %s was accepted, and its outcome not seen: %w", done.ID, err)
	}
	return booked{done, took}, nil
}

// unknownOutcome reports whether the service itself does not know if it booked.
func unknownOutcome(err error) bool {
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && p.Status == http.StatusGatewayTimeout
}
