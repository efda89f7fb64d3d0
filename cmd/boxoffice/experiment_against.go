package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/internal/experiment"
	"boxoffice/internal/verify"
)

// against plays an experiment on running services.
func (e *experimentCmd) against(ctx context.Context, c console, x experiment.Experiment) (r experiment.Result, err error) {
	urls, err := e.targets().find()
	if err != nil {
		return r, err
	}
	booking, seats, payments, err := connect(urls)
	if err != nil {
		return r, err
	}
	defer booking.Close()
	defer seats.Close()
	defer payments.Close()
	if err := allAnswer(ctx, booking, seats, payments); err != nil {
		return r, &codedError{err, exitUnanswered}
	}
	for _, p := range []part{booking, seats, payments} {
		if err := p.breakable(ctx); err != nil {
			return r, &codedError{err, exitUnanswered}
		}
	}
	reader := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: answerLimit}
	defer reader.CloseIdleConnections()
	queues := &verifyCmd{ManagementURL: e.ManagementURL, BrokerURL: e.BrokerURL}
	stack := experiment.Stack{
		Targets: urls, What: "running services at " + urls.Booking + ", " + urls.Seats + " and " + urls.Payments,
		Parked: parkedAtUp{e.URL}, Hint: e.hint,
		Queues: func(ctx context.Context, settled, deadline time.Time) (map[string]int, string, error) {
			q, unknown, err := queues.queues(ctx, reader, settled.Add(verify.FiguresAge), deadline.Add(verify.FiguresAge), func(verify.Queues) {})
			return q.Work, unknown, err
		},
		RetryDelays: e.RetryDelays, Patience: e.Patience,
		Progress: func(look func() string) func() { return showProgress(c.err, look).stop },
	}
	if e.BrokerURL == "" || e.BrokerURL.InProcess() {
		_, err := stack.Parked.List(ctx, uuid.Nil.String())
		stack.Inside = err == nil // only up answers
	} else {
		hand, err := e.reach(ctx, c)
		if err != nil {
			return r, err
		}
		defer closeBroker(ctx, hand)
		stack.Broker, stack.Parked, stack.At = hand, parkedOn(hand), e.BrokerURL.String()
		stack.What += ", and their broker " + stack.At
	}
	if e.Reset {
		empty := resetCmd{targets: *e.targets(), Timeout: emptying}
		if err := empty.Run(ctx, console{io.Discard, c.err}); err != nil {
			return r, &codedError{fmt.Errorf("--reset: %w", err), exitUnanswered}
		}
		stack.What += ", emptied"
	}
	r, err = experiment.Run(ctx, x, stack, c.out)
	return r, e.interrupted(ctx, err)
}

// emptying is how long bookings that run may take before the services are emptied.
const emptying = time.Minute

// interrupted says what Ctrl-C leaves behind.
func (e *experimentCmd) interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if broken, ok := errors.AsType[*experiment.MendError](err); ok {
		return &interruptedError{"this was not mended: " + broken.Error()}
	}
	return &interruptedError{"what was broken on purpose is mended, and the bookings stay: boxoffice reset empties the services"}
}

// hint is the commands that show a booking.
func (e *experimentCmd) hint(bookingID string) []string {
	url := urlFlag(e.URL)
	other := func(flag, at, variable string) string {
		if at == "" || url == "" && at == os.Getenv(variable) {
			return ""
		}
		return " " + flag + " " + at
	}
	others := other("--seats-url", e.SeatsURL, "SEATS_URL") + other("--payments-url", e.PaymentsURL, "PAYMENTS_URL")
	return []string{"boxoffice explain " + bookingID + url + others, "boxoffice trace " + bookingID + url}
}

// breakable is nil if the service's lab is on.
func (p part) breakable(ctx context.Context) error {
	var nothing struct{}
	err := p.Get(ctx, "lab/reset", &nothing)
	if problem, ok := errors.AsType[*client.ProblemError](err); ok && problem.Status == http.StatusNotFound {
		return fmt.Errorf("the lab of %s is off, and without it nothing can be broken on purpose: start the services with LAB=on, or leave --url out", p.name)
	}
	return p.labOn(ctx)
}
