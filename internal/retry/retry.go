// Package retry keeps at work that must succeed sooner or later. It guarantees
// growing pauses with jitter, a log line for each failure, and an end as soon
// as the context ends or an error is final.
package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Forever calls try until it succeeds, ctx ends, or it returns an error marked
// by [Final]; it returns that error, or the context's. It logs each failure.
func Forever(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) error {
	return Telling(ctx, func(err error, in time.Duration) {
		log.WarnContext(ctx, what+" failed; trying again", "error", err, "in", in.Round(time.Millisecond))
	}, try)
}

// Telling is [Forever] for callers that log by themselves: it calls tell after
// each failure, with the pause that follows.
func Telling(ctx context.Context, tell func(err error, in time.Duration), try func(context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 200 * time.Millisecond
	pauses.MaxInterval = 10 * time.Second
	_, err := backoff.Retry(ctx,
		func() (struct{}, error) { return struct{}{}, try(ctx) },
		backoff.WithBackOff(pauses),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, in time.Duration) {
			if ctx.Err() == nil {
				tell(err, in)
			}
		}))
	return err
}

// Final marks an error that trying again cannot mend.
func Final(err error) error { return backoff.Permanent(err) }
