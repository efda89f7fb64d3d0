package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/load"
	"boxoffice/internal/plain"
	"boxoffice/tickets"
)

// loadCmd drives the door.
type loadCmd struct {
	bookingURL

	Mode load.Mode `default:"closed" enum:"open,closed" help:"closed: each client makes its next booking when it has the outcome of the last. open: bookings come at a rate, whatever the answers."`

	Concurrency    *int     `placeholder:"N" help:"Clients of a closed loop (default: 64)."`
	Rate           *float64 `placeholder:"R" help:"Bookings per second of an open loop (default: 100)."`
	MaxOutstanding *int     `placeholder:"N" help:"Requests of an open loop that may be without an answer; what comes on top is counted as not sent (default: 1000)."`

	Duration time.Duration `default:"10s" help:"How long bookings are made."`
	Count    int           `placeholder:"N" help:"At most so many bookings."`
	Settle   time.Duration `default:"1m" help:"How long the last outcomes may take after that."`
	Retries  int           `placeholder:"N" help:"How often a booking that is refused with 429 or 503 is tried again, each time after its Retry-After."`

	Seats      int            `default:"1000000" help:"Seats are drawn from 1 to N."`
	SeatChoice load.Choice    `default:"unique" enum:"unique,random,hot" help:"unique: each seat once. random. hot: four of five bookings want a seat of the first fifth."`
	Amount     tickets.Amount `default:"100" help:"What is to be paid for each."`

	JSON        bool `name:"json" help:"Print the result as JSON."`
	AllowRemote bool `help:"Load a service that is not on this machine."`
}

// Help shows examples.
func (*loadCmd) Help() string {
	return `The hall must have the seats: start the services with SEATS_TOTAL=1000000, or else most bookings are Rejected.

Latencies of an open loop count from the time for which a request was scheduled, so that no stall is hidden. Goodput is the
bookings per second that were finished while load was offered.

Examples:

  SEATS_TOTAL=1000000 boxoffice up
  boxoffice load
  boxoffice load --mode open --rate 800 --duration 30s
  boxoffice load --mode open --rate 800 --duration 30s --retries 3 --json
  boxoffice load --concurrency 50 --count 50 --seats 1 --seat-choice random`
}

// Check says what cannot be done.
func (l *loadCmd) Check() error {
	var errs []error
	within := func(flag string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("--%s=%d must be from %d to %d", flag, n, least, most))
		}
	}
	only := func(flag string, given bool, mode load.Mode) {
		if given && l.Mode != mode {
			errs = append(errs, fmt.Errorf("--%s is for --mode %s, and this is --mode %s", flag, mode, l.Mode))
		}
	}
	only("concurrency", l.Concurrency != nil, load.Closed)
	only("rate", l.Rate != nil, load.Open)
	only("max-outstanding", l.MaxOutstanding != nil, load.Open)
	within("concurrency", l.concurrency(), 1, 10_000)
	within("max-outstanding", l.maxOutstanding(), 1, 100_000)
	within("count", l.Count, 0, 1_000_000_000)
	within("retries", l.Retries, 0, 1000)
	within("seats", l.Seats, 1, tickets.MaxSeat)
	if r := l.rate(); !(r >= 0.01 && r <= 1_000_000) { // NaN is neither
		errs = append(errs, fmt.Errorf("--rate=%v must be from 0.01 to 1000000", r))
	}
	if l.Duration <= 0 {
		errs = append(errs, errors.New("--duration must be above 0s"))
	}
	return errors.Join(errs...)
}

// The flags of one mode, or their defaults.
func (l *loadCmd) concurrency() int    { return given(l.Concurrency, 64) }
func (l *loadCmd) rate() float64       { return given(l.Rate, 100) }
func (l *loadCmd) maxOutstanding() int { return given(l.MaxOutstanding, 1000) }

func given[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

// Run offers the load and prints what came of it, also after an interruption.
func (l *loadCmd) Run(ctx context.Context, c console) error {
	service, err := client.New(l.URL, client.Connections(max(l.concurrency(), l.maxOutstanding())))
	if err != nil {
		return err
	}
	defer service.Close()
	if err := l.allowed(ctx); err != nil {
		return err
	}
	if _, err := service.Stats(ctx); err != nil {
		return startFirst(err)
	}
	l.awaitDoor(ctx, c, service)
	generator := load.New(load.Config{
		Mode: l.Mode, Rate: l.rate(), MaxOutstanding: l.maxOutstanding(), Concurrency: l.concurrency(),
		Duration: l.Duration, Count: l.Count, Settle: l.Settle,
		Seats: l.Seats, Choice: l.SeatChoice, Amount: l.Amount, Retries: l.Retries,
	}, service)
	shown := showProgress(c.err, func() string { return loadLine(generator.Progress()) })
	result := generator.Run(ctx)
	shown.stop()
	interrupted := ctx.Err() != nil // not by printing
	if err := l.print(c, result); err != nil {
		return err
	}
	if interrupted {
		return &interruptedError{goesOn: "the table shows what was seen until then"}
	}
	return nil
}

// doorPatience is how long a door that is still starting is waited for. One that
// stays closed is loaded all the same: that is worth a measurement, too.
const doorPatience = 10 * time.Second

func (*loadCmd) awaitDoor(ctx context.Context, c console, service *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, doorPatience)
	defer cancel()
	shown := showProgress(c.err, func() string { return "waiting until bookings are taken" })
	defer shown.stop()
	_ = service.Accepting(ctx)
}

func (l *loadCmd) print(c console, result load.Result) error {
	if l.JSON {
		text, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		fmt.Fprintln(c.out, string(text))
	} else if err := result.WriteTable(c.out); err != nil {
		return err
	}
	for _, w := range result.Warnings {
		fmt.Fprintln(c.err, "boxoffice: warning: "+w)
	}
	return nil
}

func loadLine(p load.Progress) string {
	line := fmt.Sprintf("%3.0fs  offered %d  accepted %d  refused %d  finished %d  outstanding %d",
		p.Elapsed.Seconds(), p.Offered, p.Accepted, p.Refused, p.Finished, p.Outstanding)
	if p.Settling {
		line += "  waiting for the last outcomes"
	}
	return line
}

// allowed refuses to load other people's machines by mistake.
func (l *loadCmd) allowed(ctx context.Context) error {
	u, err := url.Parse(l.URL)
	if err != nil {
		return fmt.Errorf("--url=%q is not the URL of a service", plain.Address(l.URL))
	}
	if l.AllowRemote {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	for _, a := range addresses {
		if !a.IP.IsLoopback() {
			return fmt.Errorf("%s is not on this machine: if you may load it all the same, say --allow-remote", u.Host)
		}
	}
	return nil
}
