package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Polling is quick for as long as a saga usually takes, and then slows down.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
	quick     = 2 * time.Second
)

// Finish waits until nothing more will happen to a booking: its outcome is in
// and, if that is Cancelled, its seat free again. It outlasts restarts of the
// service. When ctx ends it returns the booking as last seen, with an error.
func (c *Client) Finish(ctx context.Context, b Booking) (Booking, error) {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		seen, err := c.Booking(ctx, b.ID)
		if err != nil {
			return false, err
		}
		b = seen
		return b.Finished(), nil
	})
	return b, err
}

// Accepting waits until the service takes bookings.
func (c *Client) Accepting(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		var stats struct{ Accepting bool }
		err := c.Get(ctx, "stats", &stats)
		return stats.Accepting, err
	})
}

// Ready waits until the service is ready.
func (c *Client) Ready(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		var answer struct{}
		err := c.Get(ctx, "ready", &answer)
		return err == nil, err
	})
}

// poll calls look until it is done or fails for good.
func poll(ctx context.Context, look func(context.Context) (done bool, err error)) error {
	began := time.Now()
	pause := firstPoll
	for {
		done, err := look(ctx)
		if done {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}
		if time.Since(began) > quick {
			pause = min(2*pause, lastPoll)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if err != nil && ctx.Err() == context.DeadlineExceeded {
				return err // says more than that time is up
			}
			return context.Cause(ctx)
		}
	}
}

// passing reports whether err may be gone a moment later.
func passing(err error) bool {
	if p, ok := errors.AsType[*ProblemError](err); ok {
		return p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError
	}
	return errors.Is(err, ErrUnreachable)
}
