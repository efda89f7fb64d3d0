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
	return `It drains the booking service, waits until no booking runs, forgets all bookings, seats, payments and faults of the
bank, and takes bookings again. The services must run with LAB=on, as they do under: boxoffice up

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
	if err := booking.Post(ctx, "lab/drain"); err != nil {
		return fmt.Errorf("booking was not drained: %w", err)
	}
	done(booking.name, "drained")
	defer func() {
		err = errors.Join(err, resume(ctx, booking))
		if err == nil {
			done(booking.name, "takes bookings")
		}
	}()
	if err := r.quiet(ctx, c, booking); err != nil {
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
		return fmt.Errorf("the lab of %s %w", p.name, errLabOff)
	case err == nil:
		err = p.Stranger("GET /lab/reset: no refusal")
	}
	return fmt.Errorf("%s: %w", p.name, startFirst(err))
}

func (r *resetCmd) quiet(ctx context.Context, c console, booking part) error {
	var running atomic.Value
	running.Store("")
	shown := showProgress(c.err, func() string { return fmt.Sprint("waiting for the bookings that run: ", running.Load()) })
	why, err := booking.Quiet(ctx, r.Timeout, func(why string) { running.Store(why) })
	shown.stop()
	if err == nil && why != "" {
		err = fmt.Errorf("after %s bookings still run: %s; is the bank's gate closed, a service away, or a message parked? Nothing was emptied", r.Timeout, why)
	}
	return err
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
