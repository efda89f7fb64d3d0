package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/experiment"
	"boxoffice/internal/lab"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
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
	for _, p := range []part{booking, seats, payments} {
		if err := p.labOn(ctx); err != nil {
			return r, &codedError{err, exitUnanswered}
		}
	}
	reader := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: time.Minute}
	defer reader.CloseIdleConnections()
	queues := &verifyCmd{ManagementURL: e.ManagementURL, BrokerURL: e.BrokerURL}
	stack := experiment.Stack{
		Targets: urls, What: "running services at " + urls.Booking + ", " + urls.Seats + " and " + urls.Payments,
		Parked: parkedAtUp{e.URL},
		Queues: func(ctx context.Context, settled, deadline time.Time) (map[string]int, string, error) {
			q, unknown, err := queues.queues(ctx, reader, settled.Add(verify.FiguresAge), deadline.Add(verify.FiguresAge))
			return q.Work, unknown, err
		},
		RetryDelays: e.RetryDelays, Patience: e.Patience,
	}
	if e.BrokerURL != "" && !e.BrokerURL.InProcess() {
		hand, err := brokerAt(e.BrokerURL).connect("experiment", slog.New(slog.DiscardHandler))
		if err != nil {
			return r, err
		}
		defer closeBroker(ctx, hand)
		stack.Broker, stack.Parked = hand, parkedOn(hand)
		stack.What += ", and their broker " + e.BrokerURL.String()
	}
	return experiment.Run(ctx, x, stack, c.out)
}

// closeBroker lets go of a broker on which nothing is under way.
func closeBroker(ctx context.Context, b messaging.Broker) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	_ = b.Close(ctx) // nothing is under way
}

// parkedLetters is one booking's parked messages on a broker.
type parkedLetters struct{ *messaging.DeadLetters }

func parkedOn(b messaging.Broker) parkedLetters {
	letters := messaging.NewDeadLetters(b, operatorName, messaging.Instruments{})
	letters.Prepare = lab.Without
	return parkedLetters{letters}
}

// List is the messages, in any queue.
func (p parkedLetters) List(ctx context.Context, bookingID string) ([]messaging.DeadLetter, error) {
	var list []messaging.DeadLetter
	for _, queue := range messaging.WorkQueues() {
		err := p.DeadLetters.List(ctx, queue, func(l messaging.DeadLetter) error {
			if l.BookingID == bookingID {
				list = append(list, l)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Redrive sends them back, without their fault scripts.
func (p parkedLetters) Redrive(ctx context.Context, bookingID string) (n int, err error) {
	for _, queue := range messaging.WorkQueues() {
		m, err := p.DeadLetters.Redrive(ctx, queue, func(l messaging.DeadLetter) bool { return l.BookingID == bookingID })
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
	return listAtUp(ctx, console{io.Discard, io.Discard}, p.url, deadWhich{ID: bookingID})
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
	return n, err
}
