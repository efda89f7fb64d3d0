// Package retry keeps at work that must succeed sooner or later. It guarantees
// growing pauses with jitter, none longer than a few seconds, log lines that do
// not repeat themselves, and an end as soon as the context ends or an error is
// final.
package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// reminder is how often a log is told of the same failing.
const reminder = time.Minute

// Forever calls try until it succeeds, ctx ends, or it returns an error marked
// by [Final]; it returns that error, or the context's. It logs the first failure,
// one now and then after that, and the end.
func Forever(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) error {
	began, tries := time.Now(), 0
	var said time.Time
	err := Telling(ctx, func(err error, in time.Duration) {
		tries++
		if time.Since(said) >= reminder {
			said = time.Now()
			log.WarnContext(ctx, what+" failed; trying again", "error", err, "tries", tries, "in", in.Round(time.Millisecond))
		}
	}, try)
	if err == nil && tries > 0 {
		log.InfoContext(ctx, what+" works", "tries", tries+1, "after", time.Since(began).Round(time.Millisecond))
	}
	return err
}

// Telling is [Forever] for callers that log by themselves: it calls tell after
// each failure, with the pause that follows.
func Telling(ctx context.Context, tell func(err error, in time.Duration), try func(context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 200 * time.Millisecond
	pauses.MaxInterval = 2 * time.Second
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
