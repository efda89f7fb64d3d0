package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Run plays an experiment on a stack and tells about it. Its error is why there
// is no result; it wraps ErrCannot if the stack does not allow the experiment.
func Run(ctx context.Context, e Experiment, s Stack, out io.Writer) (r Result, err error) {
	fmt.Fprintf(out, "%s: %s\n\n", e.Name, e.Lesson)
	if e.Broker && s.Broker == nil {
		return r, fmt.Errorf("%s: %w: it publishes events itself; name the broker with BROKER_URL", e.Name, ErrCannot)
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
	r = Result{
		Name: e.Name, Broken: stage.broken, Invariants: stage.violated, Took: time.Since(began),
		unsafe: s.Unsafe, shows: slices.Contains(e.Unsafe, s.Unsafe),
	}
	r.show(out, e, s)
	return r, nil
}
