package client

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// One look at the bookings may take as long as there is to wait, within these limits.
const (
	shortestLook = 10 * time.Second
	longestLook  = 30 * time.Second
)

// Quiet waits until no booking runs, and returns what keeps the service from
// being quiet if it is not so after limit. It looks at least once. tell, if not
// nil, is told after each look.
func (c *Client) Quiet(ctx context.Context, limit time.Duration, tell func(why string)) (why string, err error) {
	deadline := time.Now().Add(limit)
	var look restless
	var failed error
	err = poll(ctx, func(ctx context.Context) (bool, error) {
		most := min(max(time.Until(deadline), shortestLook), longestLook)
		ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%s %w: no answer within %s", c, ErrUnreachable, most.Round(time.Second)))
		defer cancel()
		why, failed = look.why(ctx, c)
		if failed == nil && tell != nil {
			tell(why)
		}
		return failed == nil && why == "" || time.Now().After(deadline), failed
	})
	if err == nil {
		err = failed
	}
	return why, err
}

// restless looks for bookings that are not finished.
type restless struct {
	after string // up to which all Cancelled bookings have been found finished
}

// why is what runs, or "". The door of one replica does not know what others
// run, so that the bookings themselves are asked too.
func (r *restless) why(ctx context.Context, c *Client) (string, error) {
	stats, err := c.Stats(ctx)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{stats.Active, "active"}, {stats.Waiting, "waiting"}, {stats.Overdue, "overdue"}, {stats.Stalled, "stalled"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", "), nil
	}
	page, err := c.Bookings(ctx, "Pending", "", 1)
	if err != nil {
		return "", err
	}
	if len(page.Bookings) > 0 {
		r.after = "" // it may end as a Cancelled one
		return "booking " + page.Bookings[0].ID + " is Pending", nil
	}
	for {
		page, err := c.Bookings(ctx, "Cancelled", r.after, 1000)
		if err != nil {
			return "", err
		}
		for _, b := range page.Bookings {
			if !b.Finished() {
				return "booking " + b.ID + " is Cancelled, and its seat not free yet", nil
			}
			r.after = b.ID
		}
		if page.Next == "" {
			return "", nil
		}
	}
}
