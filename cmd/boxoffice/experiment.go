package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"boxoffice/internal/config"
	"boxoffice/internal/experiment"
	"boxoffice/internal/lab"
)

// experimentCmd breaks bookings on purpose, and looks whether they heal.
type experimentCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"Which: names, or all; list, or nothing, lists them."`

	URL           string           `name:"url" placeholder:"URL" help:"A booking service that is running (default: $BOOKING_URL); without it everything is started here, once for each experiment, and stopped."`
	SeatsURL      string           `name:"seats-url" placeholder:"URL" help:"The seats service (default: $SEATS_URL, unless --url is given, or port 5201 of the same host)."`
	PaymentsURL   string           `name:"payments-url" placeholder:"URL" help:"The payments service (default: $PAYMENTS_URL, unless --url is given, or port 5202 of the same host)."`
	BrokerURL     config.BrokerURL `type:"setting" env:"BROKER_URL" placeholder:"URL" help:"With --url: the RabbitMQ broker that those services share. Some experiments publish events themselves."`
	ManagementURL string           `name:"management-url" placeholder:"URL" help:"With --url: RabbitMQ's management API (default: guessed from BROKER_URL)."`

	Reset       bool            `help:"With --url: empty the services before each experiment, as boxoffice reset does; else each takes seats that are free."`
	RetryDelays []time.Duration `type:"setting" env:"RETRY_DELAYS" default:"1s,5s,30s" example:"1s,5s,30s" help:"The services' delays between attempts."`
	Unsafe      lab.Unsafe      `type:"setting" env:"UNSAFE" placeholder:"SAFETY" help:"Without --url: start the services with one safety off: no-confirm, ack-first, no-tombstone, no-owner-check or requeue-now."`
	Patience    time.Duration   `default:"15s" help:"How long to wait for what should happen, each time: 15s at most, for the saga deadline mends what is broken."`
	Trace       bool            `help:"Without --url: draw the traces of the bookings."`
	Verbose     bool            `short:"v" help:"Without --url: show the services' logs."`
}

// Help shows examples.
func (*experimentCmd) Help() string {
	return `Each experiment says what it sets up, what it sends and what happens, and when; then what to look at, and PASS or FAIL.
With UNSAFE, those that are about that safety must end in FAIL. If others book meanwhile, as another experiment does, it ends in
DISTURBED instead. It exits with 0 if all pass, with 1 if one fails, and with 2 if one cannot be tried, or was disturbed. However it
ends, by Ctrl-C, SIGTERM, a closed terminal or a closed pipe, it mends what was broken on purpose; boxoffice reset does that for
one that was killed.

Without --url it needs nothing: it starts the services by itself. With --url, running services must have their lab on, as they do
under boxoffice up; those on RabbitMQ need BROKER_URL too, and broker-outage asks you to stop the broker.

Examples:

  boxoffice experiment list
  boxoffice experiment redelivery
  UNSAFE=ack-first boxoffice experiment redelivery
  boxoffice experiment poison --trace
  boxoffice experiment all
  boxoffice experiment poison drain --url http://127.0.0.1:5200
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice experiment all --reset --url http://127.0.0.1:5200`
}

// AfterApply takes what was not given from the environment.
func (e *experimentCmd) AfterApply() error { //nolint:unparam // kong wants an error
	t := e.targets()
	t.fromEnvironment()
	e.URL, e.SeatsURL, e.PaymentsURL = t.URL, t.SeatsURL, t.PaymentsURL
	return nil
}

// Check says what does not fit together.
func (e *experimentCmd) Check() error {
	var errs []error
	if e.Patience <= 0 || e.Patience > maxPatience {
		errs = append(errs, fmt.Errorf("--patience=%s must be above 0s, and %s at most", e.Patience, maxPatience))
	}
	if e.URL != "" {
		errs = append(errs, e.targets().Check())
		if e.Unsafe != "" && !e.list() {
			errs = append(errs, errors.New("UNSAFE is a setting of the services, which run already: start them with it, or leave --url (BOOKING_URL) out"))
		}
		if e.Trace || e.Verbose {
			errs = append(errs, errors.New("--trace and -v are for services that are started here: leave --url (BOOKING_URL) out, or see boxoffice trace BOOKING-ID and the services' logs"))
		}
	}
	switch {
	case e.list():
	case slices.Contains(e.Names, listName):
		errs = append(errs, errors.New("list goes alone: boxoffice experiment list"))
	default:
		_, err := experiment.Find(e.Names)
		errs = append(errs, err)
	}
	if e.URL == "" && e.Reset {
		errs = append(errs, errors.New("--reset goes with --url: without it each experiment has services of its own, which are empty"))
	}
	return errors.Join(errs...)
}

// maxPatience is short enough that an experiment ends before the saga deadline
// of 60 s repairs what it broke.
const maxPatience = 15 * time.Second

// listName lists them.
const listName = "list"

func (e *experimentCmd) list() bool {
	return len(e.Names) == 0 || len(e.Names) == 1 && e.Names[0] == listName
}

func (e *experimentCmd) targets() *targets {
	return &targets{URL: e.URL, SeatsURL: e.SeatsURL, PaymentsURL: e.PaymentsURL}
}

// Run lists the experiments, or plays them one after the other.
func (e *experimentCmd) Run(ctx context.Context, c console) error {
	if e.list() {
		e.printList(c)
		return nil
	}
	experiments, err := experiment.Find(e.Names)
	if err != nil {
		return err
	}
	play := e.embedded
	if e.URL != "" {
		play = e.against
	}
	var t tally
	for i, x := range experiments {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		result, err := play(ctx, c, x)
		switch {
		case errors.Is(err, experiment.ErrCannot) && ctx.Err() == nil && len(experiments) > 1:
			fmt.Fprintf(c.out, "\nNOT TRIED  %v\n", err)
			t.untried(x)
			continue
		case errors.Is(err, experiment.ErrCannot) && ctx.Err() == nil:
			return &codedError{err, exitUnanswered}
		case err != nil:
			t.print(c)
			return err
		}
		t.add(result)
	}
	if len(experiments) > 1 {
		t.print(c)
	}
	return t.err(len(experiments), e.Unsafe)
}

// tally is how several experiments ended.
type tally struct {
	failed, asTheyShould, disturbed, not int

	lines []string
}

func (t *tally) add(r experiment.Result) {
	switch {
	case r.Disturbed != "":
		t.disturbed++
	case len(r.Broken) > 0:
		t.failed++
	}
	line := r.Line()
	if r.AsItShould() {
		t.asTheyShould++
		line += "  as it should"
	}
	t.lines = append(t.lines, line)
}

func (t *tally) untried(x experiment.Experiment) {
	t.not++
	t.lines = append(t.lines, "NOT TRIED  "+x.Name)
}

// print shows how those ended that were played.
func (t *tally) print(c console) {
	if len(t.lines) == 0 {
		return
	}
	fmt.Fprintln(c.out)
	for _, line := range t.lines {
		fmt.Fprintln(c.out, line)
	}
}

// err is nil if all passed.
func (t *tally) err(all int, off lab.Unsafe) error {
	if t.asTheyShould > 0 && t.asTheyShould == t.failed {
		return fmt.Errorf("%d of %d failed, as it should with UNSAFE=%s", t.failed, all, off)
	}
	code := exitUnanswered
	var errs []error
	if t.failed > 0 {
		code = exitFailed
		errs = append(errs, fmt.Errorf("%d of %d failed", t.failed, all))
	}
	if t.disturbed > 0 {
		errs = append(errs, fmt.Errorf("%d of %d disturbed by others", t.disturbed, all))
	}
	if t.not > 0 {
		errs = append(errs, fmt.Errorf("%d of %d could not be tried", t.not, all))
	}
	if len(errs) == 0 {
		return nil
	}
	return &codedError{errors.Join(errs...), code}
}

func (*experimentCmd) printList(c console) {
	all := experiment.All()
	width := 0
	for _, x := range all {
		width = max(width, len(x.Name))
	}
	for _, x := range all {
		fmt.Fprintf(c.out, "%-*s  %s\n", width, x.Name, x.Lesson)
	}
}
