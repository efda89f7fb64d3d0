package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"boxoffice/internal/lab"
	"boxoffice/messaging"
)

// deadRedriveCmd sends parked messages back.
type deadRedriveCmd struct {
	deadWhich
	deadFrom
	All       bool   `help:"All parked messages of all queues, or of QUEUE."`
	KeepFault bool   `help:"Leave the fault scripts on the messages: they will strike again."`
	DryRun    bool   `help:"Only show which messages would be redriven."`
	Rate      rate   `placeholder:"N/s" help:"At most so many in a second (/s, or nothing), a minute (/m) or an hour (/h). Not with --url."`
	URL       string `name:"url" type:"given" placeholder:"URL" help:"A running boxoffice up, whose broker is in its process, instead of BROKER_URL."`
}

// Help shows examples.
func (*deadRedriveCmd) Help() string {
	return `Each message goes back to the queue that failed, and to no other. It is removed here once the broker has confirmed it there. Its attempts start again, its trace goes on, and its fault script is taken off: the cause is held to be fixed. What is parked meanwhile is not redriven. Ctrl-C stops between two messages.

Examples:

  boxoffice dead redrive --all --dry-run
  boxoffice dead redrive --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  boxoffice dead redrive payments.SeatReserved --rate 20/s
  boxoffice dead redrive --all --url http://127.0.0.1:5200`
}

// Check says what does not fit together.
func (d *deadRedriveCmd) Check() error {
	_, err := d.queues()
	if err == nil && d.Queue == "" && d.ID == "" && !d.All {
		err = errors.New("which messages? Name a QUEUE, an --id, or --all")
	}
	if d.URL != "" && d.Rate.every > 0 {
		err = errors.Join(err, errors.New("--rate is for a broker of its own, not for --url"))
	}
	return errors.Join(err, d.check(d.URL))
}

// Run redrives them.
func (d *deadRedriveCmd) Run(ctx context.Context, c console) error {
	switch {
	case d.DryRun:
		return d.show(ctx, c)
	case d.URL != "":
		return d.atUp(ctx, c)
	}
	queues, err := d.queues()
	if err != nil {
		return err
	}
	o, err := openOperator(ctx, c, d.deadFrom)
	if err != nil {
		return err
	}
	defer o.close(ctx)
	if !d.KeepFault {
		o.letters.Prepare = lab.Without
	}
	r := redrive{operator: o, queues: queues, match: d.matches, pause: d.Rate.every, round: roundLimit}
	if err := r.run(ctx); err != nil {
		return err
	}
	if r.total == 0 && r.done == 0 {
		return d.none(c, o.held)
	}
	o.held.note(c)
	return nil
}

func (d *deadRedriveCmd) show(ctx context.Context, c console) error {
	letters, others, err := readParked(ctx, c, d.deadFrom, d.URL, d.deadWhich)
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return d.none(c, others)
	}
	others.note(c)
	if err := writeTable(c, letters); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\n%d would be redriven; nothing was changed\n", len(letters))
	return nil
}

// roundLimit is how long messages are held before they are given back for a
// moment: brokers take them away from who holds them for too long (RabbitMQ:
// 30 min), and meanwhile nobody else can see them.
const roundLimit = 5 * time.Minute

// redrive is one run over some queues.
type redrive struct {
	*operator
	queues []string
	match  func(messaging.DeadLetter) bool
	pause  time.Duration // between messages
	round  time.Duration

	total, done int
	next        time.Time // when the next message may go
	said        []string
}

var errRound = errors.New("the round is over")

// run redrives what is parked when it begins, the oldest first. When ctx ends it
// finishes the message in hand.
func (r *redrive) run(ctx context.Context) error {
	err := r.work(ctx)
	for _, line := range r.said {
		fmt.Fprintln(r.console.out, line)
	}
	return err
}

func (r *redrive) work(ctx context.Context) error {
	working, stop := r.watch(context.WithoutCancel(ctx))
	defer stop()
	count, err := r.count(ctx, working)
	if err != nil {
		return err
	}
	for _, queue := range r.queues {
		n, err := r.one(working, ctx.Done(), queue, count[queue])
		if n > 0 {
			r.said = append(r.said, fmt.Sprintf("%s  %d redriven", queue, n))
		}
		if err != nil {
			return r.ended(working, err)
		}
		if n < count[queue] {
			r.said = append(r.said, fmt.Sprintf("%s  %d were taken by someone else meanwhile", queue, count[queue]-n))
		}
	}
	return nil
}

// count is how many messages there are to redrive in each queue.
func (r *redrive) count(ctx, working context.Context) (map[string]int, error) {
	looking, cancel := context.WithCancelCause(working)
	defer cancel(nil)
	heed := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer heed()
	parked, err := r.list(looking, r.queues, r.match)
	if err != nil {
		return nil, err
	}
	r.total = len(parked)
	count := map[string]int{}
	for _, l := range parked {
		count[l.Queue]++
	}
	return count, nil
}

// one redrives the messages of one queue, in as many rounds as it takes. The
// first has all that is there; those that follow no more than there were.
func (r *redrive) one(ctx context.Context, stop <-chan struct{}, queue string, count int) (done int, err error) {
	for most := math.MaxInt; done < most; most = count {
		begun, ends := 0, time.Now().Add(r.round)
		r.letters.Before = func(ctx context.Context, _ messaging.DeadLetter) error {
			if done+begun == most || time.Now().After(ends) || r.next.After(ends) {
				return errRound
			}
			r.says("redriven %d of %d", r.done+begun, max(r.total, r.done+begun+1))
			if err := r.wait(ctx, stop); err != nil {
				return err
			}
			r.next = time.Now().Add(r.pause)
			begun++
			return nil
		}
		some, err := r.letters.Redrive(ctx, queue, r.match)
		done += some
		r.done += some
		if !errors.Is(err, errRound) {
			return done, err
		}
		if done < count {
			if err := r.wait(ctx, stop); err != nil { // while nobody holds them
				return done, err
			}
		}
	}
	return done, nil
}

var errStopped = errors.New("stopped")

// wait waits until the next message may go.
func (r *redrive) wait(ctx context.Context, stop <-chan struct{}) error {
	timer := time.NewTimer(time.Until(r.next))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	case <-ctx.Done():
	}
	select {
	case <-stop:
		return errStopped
	default:
		return context.Cause(ctx)
	}
}

// ended says how far it came.
func (r *redrive) ended(ctx context.Context, err error) error {
	far := fmt.Sprintf("%d of %d redriven", r.done, max(r.total, r.done))
	if errors.Is(err, errStopped) {
		return &interruptedError{goesOn: far + ", the rest stays parked"}
	}
	return fmt.Errorf("%s, and the rest is still parked (the next one may have been sent as well): %w", far, r.explain(ctx, err))
}

// rate is a number in some time, such as 20/s.
type rate struct{ every time.Duration }

// UnmarshalText reads a rate.
func (r *rate) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	per, ok := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(n >= 0.001 && n <= 1e6) {
		return fmt.Errorf("%q is not a rate; use for example 20/s or 5/m", text)
	}
	r.every = time.Duration(float64(per) / n)
	return nil
}
