package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"boxoffice/internal/verify"
)

// Result is how an experiment ended.
type Result struct {
	Name   string
	Broken []string // expectations and invariants; none: PASS
	Took   time.Duration
}

// Verdict is PASS or FAIL.
func (r Result) Verdict() string {
	if len(r.Broken) == 0 {
		return "PASS"
	}
	return "FAIL"
}

// Run plays an experiment on a stack and tells about it. Its error is why there
// is no result; it wraps ErrCannot if the stack does not allow the experiment.
func Run(ctx context.Context, e Experiment, s Stack, out io.Writer) (r Result, err error) {
	fmt.Fprintf(out, "%s: %s\n\n", e.Name, e.Lesson)
	if e.Broker && s.Broker == nil {
		return r, fmt.Errorf("%s %w: it publishes events itself; name the broker with BROKER_URL", e.Name, ErrCannot)
	}
	began := time.Now()
	stage, err := newStage(s, out)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stage.close(ctx)) }()
	for _, step := range []func(context.Context) error{
		stage.begin,
		func(ctx context.Context) error { return e.Run(ctx, stage) },
		stage.restore,
		stage.invariants,
	} {
		if err := step(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	stage.lookAt(ctx, e)
	r = Result{Name: e.Name, Broken: stage.broken, Took: time.Since(began)}
	fmt.Fprintf(out, "\n%s  %s  %s\n", r.Verdict(), e.Name, r.Took.Round(time.Millisecond))
	for _, b := range r.Broken {
		fmt.Fprintf(out, "      broken: %s\n", b)
	}
	switch {
	case len(r.Broken) > 0 || len(e.Unsafe) == 0:
	case s.Own:
		fmt.Fprintf(out, "      see it fail: UNSAFE=%s boxoffice experiment %s\n", e.Unsafe[0], e.Name)
	default:
		fmt.Fprintf(out, "      see it fail: start the services with UNSAFE=%s\n", e.Unsafe[0])
	}
	return r, nil
}

// invariants checks them once nothing runs any more, or patience has ended:
// the saga deadline, which would repair what was lost, is later than that.
func (s *Stage) invariants(ctx context.Context) error {
	why, err := s.booking.Quiet(ctx, s.Patience, nil)
	if err != nil {
		return err
	}
	if why != "" {
		s.Say("it does not come to rest: %s", why)
	}
	settled := time.Now()
	first, err := s.violations(ctx)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		again, err := s.violations(ctx)
		if err != nil {
			return err
		}
		first = verify.Lasting(first, again)
	}
	depths, unknown, err := s.Queues(ctx, settled, time.Now().Add(s.Patience))
	if err != nil {
		return err
	}
	first = append(first, verify.CheckQueues(depths)...)
	for _, v := range first {
		s.Say("BROKEN: %s", v)
		s.breaks(v.String())
	}
	switch {
	case len(first) > 0:
	case unknown != "":
		s.Say("invariants 1 to 4 hold; 5, no message is left, is not checked: %s", unknown)
	default:
		s.Say("invariants 1 to 5 hold")
	}
	return nil
}

func (s *Stage) violations(ctx context.Context) ([]verify.Violation, error) {
	snapshot, err := verify.Take(ctx, s.http, s.Targets)
	return verify.Check(snapshot, s.accepted...), err
}

// mostShown is of how many bookings the traces are named.
const mostShown = 4

func (s *Stage) lookAt(ctx context.Context, e Experiment) {
	if len(s.shown)+len(e.Queues) > 0 {
		fmt.Fprintln(s.out, "\n  look at:")
	}
	if len(e.Queues) > 0 {
		fmt.Fprintf(s.out, "  queues %s\n", strings.Join(e.Queues, ", "))
	}
	for i, b := range s.shown {
		if i == mostShown {
			fmt.Fprintf(s.out, "  and %d more\n", len(s.shown)-mostShown)
			break
		}
		fmt.Fprintf(s.out, "  %-6s booking %s, trace %s\n         events: %s\n", b.Customer, b.ID, b.TraceID, s.timeline(b))
		if s.Tree != nil {
			fmt.Fprintln(s.out, "\n    "+strings.ReplaceAll(strings.TrimSpace(s.Tree(ctx, b.TraceID)), "\n", "\n    ")+"\n")
		} else if !s.Own {
			fmt.Fprintf(s.out, "         boxoffice explain %s; boxoffice trace %s\n", b.ID, b.ID)
		}
	}
	if s.Own && s.Tree == nil {
		fmt.Fprintf(s.out, "  its traces as trees: boxoffice experiment %s --trace\n", e.Name)
	}
}
