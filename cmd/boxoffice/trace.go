package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/jaeger"
	"boxoffice/internal/telemetry"
)

// jaegerURL is where Jaeger answers.
type jaegerURL struct {
	JaegerURL string `name:"jaeger-url" env:"JAEGER_URL" placeholder:"URL" help:"Jaeger, if the services export to it; without it a running boxoffice up is asked, which keeps its latest traces."`
}

// traceCmd shows the trace of a booking.
type traceCmd struct {
	bookingURL
	jaegerURL

	BookingID string        `arg:"" type:"given" help:"The id of the booking."`
	Wait      time.Duration `default:"8s" help:"How long to wait for spans that are still on their way."`
}

// Help shows examples.
func (*traceCmd) Help() string {
	return `Services export their spans every few seconds.

Examples:

  boxoffice trace 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  boxoffice trace 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c --jaeger-url http://localhost:16686
  JAEGER_URL=http://localhost:16686 boxoffice trace 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c --url http://localhost:5200`
}

// Run draws the tree.
func (t *traceCmd) Run(ctx context.Context, c console) error {
	service, err := client.New(t.URL)
	if err != nil {
		return err
	}
	defer service.Close()
	b, err := t.booking(ctx, service)
	if err != nil {
		return err
	}
	from := service.String()
	read := func(ctx context.Context) ([]telemetry.Span, error) { return t.kept(ctx, service, b.TraceID) }
	if t.JaegerURL != "" {
		j, err := jaeger.New(t.JaegerURL)
		if err != nil {
			return err
		}
		defer j.Close()
		from = "Jaeger at " + j.String()
		read = func(ctx context.Context) ([]telemetry.Span, error) { return j.Trace(ctx, b.TraceID) }
	}
	shown := showProgress(c.err, func() string { return "waiting for spans from " + from })
	spans, err := t.wait(ctx, b, func(ctx context.Context) ([]telemetry.Span, error) {
		limit := max(t.Wait, answerSoon)
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s does not answer within %s", from, limit))
		defer cancel()
		return read(ctx)
	})
	shown.stop()
	if err != nil {
		return err
	}
	if len(spans) == 0 {
		return t.missing(from, b.TraceID)
	}
	line := fmt.Sprintf("%s  seat %d  %s", b.Customer, b.Seat, b.Status)
	if b.Reason != "" {
		line += "  " + b.Reason
	}
	fmt.Fprintf(c.out, "%s\ntrace %s\n\n%s", line, b.TraceID, telemetry.Tree(spans))
	if !b.Finished() {
		fmt.Fprintf(c.out, "\nThe booking is still %s: more may come. What it waits for, says: boxoffice explain %s%s\n", unfinished(b), b.ID, urlFlag(t.URL))
	} else if !whole(b, spans) {
		fmt.Fprintln(c.err, "Some spans are missing: their service has not sent them yet, or crashed before it could.")
	}
	return nil
}

// unfinished is how a booking stands that waits for something.
func unfinished(b client.Booking) string {
	if b.Status == "Cancelled" {
		return "Cancelled without its seat released"
	}
	return b.Status
}

func (t *traceCmd) booking(ctx context.Context, service *client.Client) (client.Booking, error) {
	b, err := service.Booking(ctx, t.BookingID)
	p, refused := errors.AsType[*client.ProblemError](err)
	switch {
	case refused && p.Status == http.StatusNotFound:
		return b, noBooking(t.BookingID, service, "")
	case err == nil && b.TraceID == "":
		return b, fmt.Errorf("booking %s has no trace", b.ID)
	}
	return b, startFirst(err)
}

// kept is what a running up has recorded of a trace.
func (t *traceCmd) kept(ctx context.Context, service *client.Client, id string) ([]telemetry.Span, error) {
	var answer traceJSON
	err := service.Get(ctx, "lab/traces/"+id, &answer)
	if p, refused := errors.AsType[*client.ProblemError](err); refused && p.Status == http.StatusNotFound {
		return nil, fmt.Errorf("%s keeps no traces: it is no boxoffice up with LAB=on; name the Jaeger that the services export to, with --jaeger-url (trace %s)", t.URL, id)
	}
	spans := make([]telemetry.Span, len(answer.Spans))
	for i, s := range answer.Spans {
		spans[i] = s.span()
	}
	return spans, err
}

// missing says where the trace may be.
func (t *traceCmd) missing(from, id string) error {
	if t.JaegerURL == "" {
		return fmt.Errorf("%s keeps only its latest traces, and trace %s is not among them; if it exports them: --jaeger-url", t.URL, id)
	}
	return notIn(from, id)
}

// notIn is the error of a trace that a Jaeger does not have.
func notIn(from, id string) error {
	return fmt.Errorf("%s has no trace %s: do the services export to it (OTEL_EXPORTER_OTLP_ENDPOINT)?", from, id)
}

// answerSoon is how long an answer may take, whatever --wait is.
const answerSoon = 5 * time.Second

// lookAgain is how long to wait before the spans are read again.
const lookAgain = 250 * time.Millisecond

// wait reads the spans until the trace is whole, or it has waited enough.
func (t *traceCmd) wait(
	ctx context.Context, b client.Booking, read func(context.Context) ([]telemetry.Span, error),
) ([]telemetry.Span, error) {
	enough := time.NewTimer(t.Wait)
	defer enough.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		spans, err := read(ctx)
		if err != nil && !errors.Is(err, jaeger.ErrNoTrace) {
			return nil, err
		}
		if whole(b, spans) {
			return spans, nil
		}
		select {
		case <-again.C:
		case <-enough.C:
			return spans, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// whole reports whether the last steps of the booking are among the spans, and
// none but the first hangs in the air.
func whole(b client.Booking, spans []telemetry.Span) bool {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, s := range spans {
		ids[s.ID], names[s.Name] = true, true
	}
	roots := 0
	for _, s := range spans {
		if !ids[s.ParentID] {
			roots++
		}
	}
	return roots == 1 && !slices.ContainsFunc(lastSteps(b), func(name string) bool { return !names[name] })
}

// lastSteps is how a booking comes to where it is.
func lastSteps(b client.Booking) []string {
	var events []string
	switch b.Status {
	case "Confirmed":
		events = []string{"PaymentSucceeded"}
	case "Rejected":
		events = []string{"SeatRejected"}
	case "Cancelled":
		if b.SeatReleased {
			events = []string{"PaymentFailed", "SeatReleased"}
		}
	}
	for i, e := range events {
		events[i] = "process booking." + e
	}
	return events
}
