package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Polling is quick at first, and then slows down.
const (
	firstPoll = 20 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
	// longPoll is how long one request may wait for an outcome: the service
	// allows 60 s, and what is between it and us may allow less.
	longPoll = 30 * time.Second
)

// Finish waits until nothing more will happen to a booking: its outcome is in
// and, if that is Cancelled, its seat free again. It outlasts restarts of the
// service. When ctx ends it returns the booking as last seen, with an error.
func (c *Client) Finish(ctx context.Context, b Booking) (Booking, error) {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		// The service waits only for the outcome of a Pending booking. One that
		// stops, or for which too many wait already, answers at once.
		seen, err := c.outcome(ctx, b.ID, longPoll)
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
		stats, err := c.Stats(ctx)
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
	pause := firstPoll
	for {
		done, err := look(ctx)
		if done {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}
		timer := time.NewTimer(pause)
		pause = min(pause+pause/4, lastPoll)
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
