package messaging

import (
	"context"
	"log/slog"
	"time"

	"boxoffice/messaging/internal/streak"
)

// DeclareUntilDone declares the topology, again and again until the broker has
// it or ctx ends. A service calls it before it publishes or consumes: what is
// wrong is logged, and shows in the broker's Ready.
func DeclareUntilDone(ctx context.Context, b Broker, t Topology, mode TopologyMode, log *slog.Logger) error {
	var failing streak.Streak
	for wait := newBackoff(time.Second, maxPause); ; {
		err := b.Declare(ctx, t, mode)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err == nil {
			if r, ended := failing.Worked(); ended {
				log.InfoContext(ctx, "the topology is declared", "tries", r.Tries, "after", r.Lasted())
			}
			return nil
		}
		d := wait.next()
		if r, say := failing.Failed(err); say {
			log.ErrorContext(ctx, "cannot declare the topology; trying again", "error", err, "tries", r.Tries, "in", d.Round(time.Millisecond))
		}
		if !pause(ctx, nil, d) {
			return ctx.Err()
		}
	}
}
