package messaging

import (
	"context"
	"log/slog"
	"time"
)

// DeclareUntilDone declares the topology, again and again until the broker has
// it or ctx ends. A service calls it before it publishes or consumes: what is
// wrong is logged, and shows in the broker's Ready.
func DeclareUntilDone(ctx context.Context, b Broker, t Topology, mode TopologyMode, log *slog.Logger) error {
	for wait := newBackoff(time.Second, 30*time.Second); ; {
		err := b.Declare(ctx, t, mode)
		if err == nil || ctx.Err() != nil {
			return err
		}
		d := wait.next()
		log.ErrorContext(ctx, "cannot declare the topology; trying again", "error", err, "in", d.Round(time.Millisecond))
		if !pause(ctx, nil, d) {
			return ctx.Err()
		}
	}
}
