package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/internal/verify"
)

// verifyCmd checks the invariants.
type verifyCmd struct {
	targets

	ManagementURL string           `name:"management-url" placeholder:"URL" help:"RabbitMQ's management API, such as http://guest:guest@127.0.0.1:15672 (default: guessed from BROKER_URL)."`
	BrokerURL     config.BrokerURL `type:"setting" env:"BROKER_URL" placeholder:"URL" help:"The RabbitMQ broker, whose virtual host has the queues."`
	Timeout       time.Duration    `default:"1m" help:"How long running bookings may take to finish, and messages to be consumed."`
}

// Help shows examples.
func (*verifyCmd) Help() string {
	return `It waits until no booking runs, reads everything that the services know, and names each booking that breaks an invariant,
with its trace id. It exits with 0 if all hold, with 1 if one does not, and with 2 if a service did not answer. What is parked
breaks none; it is listed, from the RabbitMQ of BROKER_URL or from a running boxoffice up.

Examples:

  boxoffice verify
  boxoffice verify --url http://10.0.0.5:5200 --timeout 5m
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice verify
  boxoffice verify --management-url http://guest:guest@localhost:15672`
}

// exitUnanswered is the exit code of a check that could not be made.
const exitUnanswered = 2

// Run checks and prints what it found.
func (v *verifyCmd) Run(ctx context.Context, c console) error {
	report, err := v.check(ctx, c)
	if err != nil {
		if ctx.Err() == nil {
			err = &codedError{err, exitUnanswered}
		}
		return err
	}
	report.parked = v.parked(ctx, c)
	return report.print(c.out)
}

// check waits for quiet, and takes what there is then.
func (v *verifyCmd) check(ctx context.Context, c console) (report verifyReport, err error) {
	urls, err := v.find()
	if err != nil {
		return report, err
	}
	booking, seats, payments, err := connect(urls)
	if err != nil {
		return report, err
	}
	defer booking.Close()
	defer seats.Close()
	defer payments.Close()
	var line atomic.Value
	tell := func(format string, args ...any) { line.Store(fmt.Sprintf(format, args...)) }
	tell("asking %s, %s and %s", booking, seats, payments)
	shown := showProgress(c.err, func() string { return fmt.Sprint(line.Load()) })
	defer shown.stop()

	deadline := time.Now().Add(v.Timeout)
	if err := allAnswer(ctx, booking, seats, payments); err != nil { // who is not there is not waited for
		return report, err
	}
	report.running, err = booking.Quiet(ctx, v.Timeout, func(why string) { tell("waiting for the bookings that run: %s", why) })
	if err != nil {
		return report, fmt.Errorf("booking: %w", err)
	}
	reader := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: answerLimit}
	defer reader.CloseIdleConnections()
	// First the queues: what is still in one may change the rows.
	report.queues, report.unchecked, err = v.queues(ctx, reader, time.Now().Add(verify.FiguresAge), deadline, func(q verify.Queues) {
		if left := q.Left(); left != "" {
			tell("waiting for the messages that are left: %s", left)
		} else {
			tell("waiting for the broker's figures, which are seconds old")
		}
	})
	if err != nil {
		return report, err
	}
	limit := max(time.Until(deadline), min(v.Timeout, 5*time.Second)) // of the bookings that have begun since
	if report.running != "" {
		limit = 0
	}
	again := ""
	report.snapshot, report.found, err = verify.Look(ctx, func(ctx context.Context) (verify.Snapshot, error) {
		defer func() { again = "looking again, for what may have been on its way: " }()
		return verify.TakeWatched(ctx, reader, urls, func(rows int) { tell("%s%d rows read", again, rows) })
	}, limit)
	return report, err
}

// queues waits for figures of after settled, and until the queues are empty, as
// long as time allows. Where nobody knows the queues it says why.
func (v *verifyCmd) queues(
	ctx context.Context, c *http.Client, settled, deadline time.Time, tell func(verify.Queues),
) (q verify.Queues, unchecked string, err error) {
	address, vhost, given, why := v.management()
	if why != "" {
		return q, why, nil
	}
	const unknown = "what is in the queues is not known: "
	for {
		q, err = verify.TakeQueues(ctx, c, address, vhost)
		now := time.Now()
		late := now.After(deadline)
		switch {
		case ctx.Err() != nil:
			return q, "", context.Cause(ctx)
		case errors.Is(err, verify.ErrNoFigures):
			if late && now.After(settled) {
				return q, unknown + err.Error(), nil
			}
		case err != nil && given:
			return q, "", fmt.Errorf("the management API does not answer: %w", err)
		case err != nil:
			return q, unknown + err.Error() + "; where it is was guessed from BROKER_URL, --management-url says it", nil //nolint:nilerr // it is told, and fails nothing
		case now.After(settled) && (late || q.Left() == ""):
			return q, "", nil
		case q.Left() != "" && !late:
			// It moves on, perhaps into a queue whose figure is older than this one's.
			settled = now.Add(verify.FiguresAge)
		}
		tell(q)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return q, "", context.Cause(ctx)
		}
	}
}

// management is where RabbitMQ's management API is, and whether we were told
// so, or else why that is not known.
func (v *verifyCmd) management() (address, vhost string, given bool, why string) {
	if v.ManagementURL == "" && (v.BrokerURL == "" || v.BrokerURL.InProcess()) {
		return "", "", false, "there is no management API to ask what is in the queues: neither BROKER_URL nor --management-url names a RabbitMQ, and the broker inside boxoffice up has none"
	}
	vhost = "/"
	if v.BrokerURL != "" && !v.BrokerURL.InProcess() {
		address, vhost = managementOf(v.BrokerURL)
	}
	if v.ManagementURL != "" {
		return v.ManagementURL, vhost, true, ""
	}
	return address, vhost, false, ""
}

// Check says what cannot be done.
func (v *verifyCmd) Check() error {
	if v.ManagementURL == "" {
		return v.targets.Check()
	}
	if _, err := client.New(v.ManagementURL); err != nil || strings.ContainsAny(v.ManagementURL, "?#") {
		return errors.New("--management-url is not a URL; use for example http://guest:guest@127.0.0.1:15672")
	}
	return v.targets.Check()
}
