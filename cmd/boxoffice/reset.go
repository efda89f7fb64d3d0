package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"boxoffice/internal/client"
)

// resetCmd empties a lab stack.
type resetCmd struct {
	targets

	Timeout time.Duration `default:"1m" help:"How long running bookings may take to finish."`
}

// Help shows examples.
func (*resetCmd) Help() string {
	return `It opens the bank's gate and lets the bank answer, drains the booking service, waits until no booking runs, forgets all
bookings, seats, payments and faults of the bank, and takes bookings again. So it mends what an experiment that was killed has
left behind. What is parked stays parked: boxoffice dead drop --all removes it. The services must run with LAB=on, as they do under
boxoffice up. It exits with 2 if they do not, and with 1 if something else fails.

Examples:

  boxoffice reset
  boxoffice reset --url http://10.0.0.5:5200 --timeout 5m`
}

// Run empties the services, or says how far it came. In the end bookings are taken again.
func (r *resetCmd) Run(ctx context.Context, c console) (err error) {
	urls, err := r.find()
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
	parts := []part{payments, seats, booking}
	if err := allAnswer(ctx, booking, seats, payments); err != nil {
		return err
	}
	for _, p := range parts {
		if err := p.labOn(ctx); err != nil {
			return err
		}
	}
	done := func(name, what string) { fmt.Fprintf(c.out, "%-8s  %s\n", name, what) }
	if err := mendBank(ctx, payments); err != nil {
		return err
	}
	done(payments.name, "gate open, bank answers") // nobody tells whether they were before
	err = booking.Post(ctx, "lab/drain")
	if err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrUnanswered) {
		return fmt.Errorf("booking was not drained: %w", err)
	}
	defer func() { err = r.reopen(ctx, booking, err, done) }() // it may be drained, if nobody has said so
	if err != nil {
		return fmt.Errorf("booking may not have been drained: %w", err)
	}
	done(booking.name, "drained")
	if err := r.quiet(ctx, c, booking, payments); err != nil {
		return err
	}
	for _, p := range parts { // all before the first, or they would contradict each other
		if err := r.insist(ctx, c, p, p.Check); err != nil {
			return fmt.Errorf("nothing was emptied: %s: %w", p.name, err)
		}
	}
	for i, p := range parts {
		if err := r.insist(ctx, c, p, p.Post); err != nil {
			return fmt.Errorf("%s was not emptied, nor what comes after it (%d of 3 were): %w", p.name, i, err)
		}
		done(p.name, "emptied")
	}
	return nil
}

// insist asks a service to reset until it has no delivery in hand any more: a
// late duplicate, or one that is held.
func (r *resetCmd) insist(ctx context.Context, c console, p part, reset func(context.Context, string) error) error {
	shown := showProgress(c.err, func() string { return "waiting for the deliveries that " + p.name + " has in hand" })
	defer shown.stop()
	for end := time.Now().Add(r.Timeout); ; {
		err := reset(ctx, "lab/reset")
		problem, refused := errors.AsType[*client.ProblemError](err)
		if !refused || problem.Status != http.StatusConflict || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errLabOff = errors.New("is off: start the services with LAB=on")

// labOn asks for what exists only there, in a way that changes nothing.
func (p part) labOn(ctx context.Context) error {
	var nothing struct{}
	err := p.Get(ctx, "lab/reset", &nothing)
	problem, ok := errors.AsType[*client.ProblemError](err)
	switch {
	case ok && problem.Status == http.StatusMethodNotAllowed:
		return nil
	case ok && problem.Status == http.StatusNotFound:
		return &codedError{fmt.Errorf("the lab of %s %w", p.name, errLabOff), exitUsage}
	case err == nil:
		err = p.Stranger("GET /lab/reset: no refusal")
	}
	return fmt.Errorf("%s: %w", p.name, startFirst(err))
}

// mendBank ends what keeps bookings from finishing: who broke it may be gone.
// A delay that the lab gave the bank ends with the reset.
func mendBank(ctx context.Context, payments part) error {
	if err := payments.OpenGate(ctx); err != nil {
		return fmt.Errorf("nothing was emptied: the bank's gate was not opened: %w", err)
	}
	if err := payments.MendBank(ctx); err != nil {
		return fmt.Errorf("nothing was emptied: the bank was not mended: %w", err)
	}
	return nil
}

func (r *resetCmd) quiet(ctx context.Context, c console, booking, payments part) error {
	var running atomic.Value
	running.Store("")
	shown := showProgress(c.err, func() string { return fmt.Sprint("waiting for the bookings that run: ", running.Load()) })
	why, err := booking.Quiet(ctx, r.Timeout, func(why string) { running.Store(why) })
	shown.stop()
	if err == nil && why != "" {
		err = fmt.Errorf("after %s bookings still run: %s; %s Nothing was emptied", r.Timeout, why, suspicion(ctx, payments))
	}
	return err
}

// suspicion is what may keep bookings from finishing, as far as payments knows.
func suspicion(ctx context.Context, payments part) string {
	problem, refused := errors.AsType[*client.ProblemError](payments.Check(ctx, "lab/reset"))
	if refused && problem.Status == http.StatusConflict {
		return "charges are at the bank: it is slow, or somebody has closed its gate, or made it fail, since it was mended."
	}
	return "is a service away, or a message parked?"
}

// reopen ends a reset that ends with err: bookings are taken again.
func (r *resetCmd) reopen(ctx context.Context, booking part, err error, done func(name, what string)) error {
	failed := resume(ctx, booking)
	switch {
	case err == nil && failed == nil:
		done(booking.name, "takes bookings")
		return nil
	case ctx.Err() == nil || !errors.Is(err, context.Canceled):
		return errors.Join(err, failed)
	case failed != nil:
		return &interruptedError{failed.Error()}
	}
	return &interruptedError{"bookings are taken again; boxoffice reset begins anew"}
}

// resume opens the door again, whatever happened.
func resume(ctx context.Context, booking part) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := booking.Post(ctx, "lab/resume"); err != nil {
		return fmt.Errorf("booking is still drained (POST /lab/resume ends that): %w", err)
	}
	return nil
}
