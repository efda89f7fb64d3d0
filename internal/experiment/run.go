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
		how := "name the broker with BROKER_URL"
		if s.Inside {
			how = "the broker is inside boxoffice up, where nobody else can: leave --url out"
		}
		return r, fmt.Errorf("%s: %w: it publishes events itself; %s", e.Name, ErrCannot, how)
	}
	began := time.Now()
	stage, err := newStage(s, out)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stage.close(ctx)) }()
	if err := stage.begin(ctx); err != nil {
		return r, fmt.Errorf("%s: %w", e.Name, err)
	}
	disturbed, err := stage.play(ctx, e)
	if err != nil {
		return r, fmt.Errorf("%s: %w", e.Name, err)
	}
	stage.lookAt(ctx, e)
	r = Result{
		Name: e.Name, Broken: stage.broken, Invariants: stage.violated, Disturbed: disturbed, Took: time.Since(began),
		unsafe: s.Unsafe, shows: slices.Contains(e.Unsafe, s.Unsafe),
	}
	r.show(out, e, s)
	return r, nil
}

// play plays the scene to its end, and returns what others did meanwhile, or "".
// If they did something, that it could not go on may be their doing.
func (s *Stage) play(ctx context.Context, e Experiment) (disturbed string, err error) {
	failed := e.Run(ctx, s)
	if err := s.restore(ctx); err != nil {
		return "", errors.Join(failed, err)
	}
	if failed == nil {
		failed = s.invariants(ctx)
	}
	switch {
	case failed == nil:
		return s.disturbance(ctx)
	case errors.Is(failed, ErrCannot):
		return "", failed
	}
	limited, cancel := context.WithTimeout(ctx, mending)
	defer cancel()
	if disturbed, err = s.disturbance(limited); err != nil || disturbed == "" {
		return "", failed // whose services are not there, or are ours alone
	}
	s.Say("it cannot go on: %s", failed)
	s.breaks("it could not go on: " + failed.Error())
	return disturbed, nil
}
