package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/internal/telemetry"
	"boxoffice/tickets"
)

// demoCmd makes the four bookings.
type demoCmd struct {
	URL     string        `name:"url" placeholder:"URL" help:"A booking service that is running (default: $BOOKING_URL); without it everything is started here, and stopped."`
	Verbose bool          `short:"v" help:"Show the services' logs."`
	Timeout time.Duration `default:"1m" help:"How long all of it may take."`
}

// Help shows examples.
func (*demoCmd) Help() string {
	return `Examples:

  boxoffice demo
  boxoffice demo --verbose
  boxoffice demo --url http://127.0.0.1:5200`
}

// AfterApply takes from the environment what was not given.
func (d *demoCmd) AfterApply() error { //nolint:unparam // kong wants an error
	d.URL = cmp.Or(d.URL, os.Getenv("BOOKING_URL"))
	return nil
}

// Run makes the bookings, here or on running services.
func (d *demoCmd) Run(ctx context.Context, c console) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.Timeout, fmt.Errorf("the demo took more than %s", d.Timeout))
	defer cancel()
	if d.URL == "" {
		return d.embedded(ctx, c)
	}
	cancelled, err := fourBookings(ctx, d.URL, c.out)
	if err != nil || cancelled == nil {
		return err
	}
	fmt.Fprintf(c.out, "\n%s's trace is %s; see it in Jaeger, or with: boxoffice trace %s --url %s\n",
		cancelled.Customer, cancelled.TraceID, cancelled.ID, d.URL)
	return nil
}

// embedded runs the services for as long as the demo takes.
func (d *demoCmd) embedded(ctx context.Context, c console) error {
	var s scene
	if err := config.Defaults(&s); err != nil {
		return err
	}
	s.BookingAddr, s.SeatsAddr, s.PaymentsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	if !d.Verbose {
		s.LogLevel = slog.LevelWarn
	}
	recorder := telemetry.NewRecorder(0)
	hs, err := s.open(ctx, process{broker: brokerAt("inproc:"), logs: c.err, recorder: recorder}, "")
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	showing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stopped := make(chan error, 1)
	go func() {
		err := hs.run(running)
		fail(err) // the show cannot go on
		stopped <- err
	}()
	err = d.show(showing, c.out, hs, recorder)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &interruptedError{} // nothing goes on: the services end with us
	}
	stop()
	if failed := <-stopped; failed != nil && !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return err
}

func (d *demoCmd) show(ctx context.Context, out io.Writer, hs hosts, recorder *telemetry.Recorder) error {
	if err := hs.ready(ctx); err != nil {
		return err
	}
	cancelled, err := fourBookings(ctx, hs[0].url(), out)
	if err != nil || cancelled == nil {
		return err
	}
	if err := recorder.Wait(ctx, cancelled.TraceID, complete); err != nil {
		return fmt.Errorf("trace %s is not complete: %w", cancelled.TraceID, err)
	}
	fmt.Fprintf(out, "\n%s's booking as a trace, %s:\n\n%s", cancelled.Customer, cancelled.TraceID,
		telemetry.Tree(recorder.Trace(cancelled.TraceID)))
	return nil
}

// complete reports whether the last two deliveries of a cancelled booking are among the spans.
func complete(spans []telemetry.Span) bool {
	last := map[string]bool{"process booking.PaymentFailed": true, "process booking.SeatReleased": true}
	for _, s := range spans {
		delete(last, s.Name)
	}
	return len(last) == 0
}

// fourBookings makes the bookings one after the other, and returns the one that
// was cancelled, if any was.
func fourBookings(ctx context.Context, url string, out io.Writer) (cancelled *booked, err error) {
	service, err := client.New(url)
	if err != nil {
		return nil, err
	}
	defer service.Close()
	sold := ""
	for _, w := range []client.Wish{
		{Seat: 5, Customer: "olena", Amount: tickets.MustAmount("450")},
		{Seat: 5, Customer: "petro", Amount: tickets.MustAmount("450")},
		{Seat: 7, Customer: "ivan", Amount: tickets.MustAmount("1500")},
		{Seat: 7, Customer: "maria", Amount: tickets.MustAmount("600")}, // once ivan's seat is free again
	} {
		b, err := book(ctx, service, w, func(string) func() { return func() {} })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Customer, err)
		}
		fmt.Fprintln(out, b)
		switch {
		case b.Status == "Cancelled":
			cancelled = &b
		case b.Status == "Rejected" && w.Customer != "petro":
			sold = "\nSome seats had been sold before: who asks for them is Rejected. All are free again, and all bookings forgotten, after: boxoffice reset" +
				urlFlag(url) + "\n"
		}
	}
	fmt.Fprint(out, sold)
	return cancelled, nil
}
