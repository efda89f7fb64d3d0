package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/experiment"
	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// mostConnecting is how long to wait for a broker that cannot be reached.
const mostConnecting = 10 * time.Second

// reach connects to the broker at BROKER_URL, and makes sure that it is one of
// boxoffice. Its error has the exit code. Close what it returns.
func (e *experimentCmd) reach(ctx context.Context, c console) (messaging.Broker, error) {
	hand, err := brokerAt(e.BrokerURL).connect("experiment", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, &codedError{fmt.Errorf("BROKER_URL: %w", err), exitUnanswered}
	}
	patience := min(mostConnecting, e.Patience)
	if err := e.meet(ctx, c, hand, patience); err != nil {
		closeBroker(ctx, hand)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &codedError{err, exitUnanswered}
	}
	return hand, nil
}

func (e *experimentCmd) meet(ctx context.Context, c console, hand messaging.Broker, patience time.Duration) error {
	shown := showProgress(c.err, func() string { return fmt.Sprintf("connecting to %s", e.BrokerURL) })
	defer shown.stop()
	reached := func() error { return hand.Ready() }
	deadline, look := time.NewTimer(patience), time.NewTicker(50*time.Millisecond)
	defer deadline.Stop()
	defer look.Stop()
	for reached() != nil {
		select {
		case <-look.C:
		case <-deadline.C:
			return fmt.Errorf("BROKER_URL=%s cannot be reached within %s: %w\n"+
				"It must be the RabbitMQ broker that the services use, as seen from here; for boxoffice up, whose broker is in its process, leave it out",
				e.BrokerURL, patience, reached())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := parkedOn(hand).List(limited, "")
	switch {
	case errors.Is(err, experiment.ErrCannot): // someone else looks: then it is the right broker
	case errors.Is(err, messaging.ErrNoQueue):
		return fmt.Errorf("BROKER_URL=%s has no queues of boxoffice: %w\nThe services make them when they start: is it the broker, and the virtual host, that they use?", e.BrokerURL, err)
	case err != nil:
		return fmt.Errorf("BROKER_URL=%s: %w", e.BrokerURL, err)
	}
	return nil
}

// closeBroker lets go of a broker on which nothing is under way.
func closeBroker(ctx context.Context, b messaging.Broker) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	_ = b.Close(ctx) // nothing is under way
}

// parkedLetters is one booking's parked messages on a broker.
type parkedLetters struct{ broker messaging.Broker }

func parkedOn(b messaging.Broker) parkedLetters { return parkedLetters{b} }

// List is the messages, in any queue.
func (p parkedLetters) List(ctx context.Context, bookingID string) ([]messaging.DeadLetter, error) {
	return lookPatiently(ctx, bookingID, func() (list []messaging.DeadLetter, others held, err error) {
		letters := messaging.NewDeadLetters(p.broker, tickets.System(nil), operatorName, messaging.Instruments{})
		letters.Held = addTo(&others)
		for _, queue := range tickets.System(nil).WorkQueues() {
			err := letters.List(ctx, queue, func(l messaging.DeadLetter) error {
				if bookingID == "" || l.Key == bookingID {
					list = append(list, l)
				}
				return nil
			})
			if err != nil {
				return nil, nil, err
			}
		}
		return list, others, nil
	})
}

// othersLook is how long someone else may look at what is parked, such as a
// verify, before nobody knows what is there.
const othersLook = 3 * time.Second

// lookPatiently looks until the booking's are there, or nobody else holds some.
func lookPatiently(ctx context.Context, bookingID string, look func() ([]messaging.DeadLetter, held, error)) ([]messaging.DeadLetter, error) {
	for end := time.Now().Add(othersLook); ; {
		list, others, err := look()
		switch {
		case err != nil, len(others) == 0, len(list) > 0 && bookingID != "":
			return list, err
		case time.Now().After(end):
			return nil, fmt.Errorf("%w: what is parked is not known: there is what %s", experiment.ErrCannot, others)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Redrive sends them back, without their fault scripts.
func (p parkedLetters) Redrive(ctx context.Context, bookingID string) (n int, err error) {
	letters := messaging.NewDeadLetters(p.broker, tickets.System(nil), operatorName, messaging.Instruments{})
	letters.Prepare = lab.Without
	for _, queue := range tickets.System(nil).WorkQueues() {
		m, err := letters.Redrive(ctx, queue, func(l messaging.DeadLetter) bool { return l.Key == bookingID })
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// parkedAtUp is one booking's parked messages on the broker inside a running up.
type parkedAtUp struct{ url string }

// List is the messages, in any queue.
func (p parkedAtUp) List(ctx context.Context, bookingID string) ([]messaging.DeadLetter, error) {
	return lookPatiently(ctx, bookingID, func() ([]messaging.DeadLetter, held, error) {
		list, others, err := listAtUp(ctx, console{io.Discard, io.Discard}, p.url, deadWhich{ID: bookingID})
		return list, others, p.cannot(ctx, err)
	})
}

// Redrive sends them back, without their fault scripts.
func (p parkedAtUp) Redrive(ctx context.Context, bookingID string) (n int, err error) {
	var answer redrivenJSON
	err = askUp(p.url, func(up *client.Client) error {
		return up.Send(ctx, "lab/dead/redrive", redriveJSON{ID: bookingID}, &answer)
	})
	for _, m := range answer.Redriven {
		n += m
	}
	return n, p.cannot(ctx, err)
}

// cannot is the error of services that are no up: their broker has to be asked.
func (p parkedAtUp) cannot(ctx context.Context, err error) error {
	_, refused := errors.AsType[*client.ProblemError](err)
	if err == nil || ctx.Err() != nil || refused || errors.Is(err, client.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: it looks for parked messages, and %s has no broker in its process; name the broker with BROKER_URL", experiment.ErrCannot, p.url)
}
