package messaging

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// HoldTimeoutError is why a delivery was taken back whose consumer did not settle it
// in the time that the broker gives it. A driver makes it, or an error that
// wraps it, the cause with which the contexts of a lost session end.
type HoldTimeoutError struct {
	Limit time.Duration // the broker's; 0 if it did not say
	Err   error         // what it said
}

func (h *HoldTimeoutError) Error() string { return h.Err.Error() }
func (h *HoldTimeoutError) Unwrap() error { return h.Err }

// heldTooLongError is the last error of a delivery that was held up to the limit.
type heldTooLongError struct{ err error }

func (h *heldTooLongError) Error() string { return h.err.Error() }
func (h *heldTooLongError) Unwrap() error { return h.err }

func isHeldTooLong(err error) bool {
	_, ok := errors.AsType[*heldTooLongError](err)
	return ok
}

// holdLimit is how long a delivery is held: as configured, or less once the
// broker turned out to be less patient.
type holdLimit struct{ d atomic.Int64 }

func (l *holdLimit) get() time.Duration { return time.Duration(l.d.Load()) }

const (
	// leastLimit is the shortest limit of a broker that is believed: handlers need
	// some time, too.
	leastLimit = time.Second
	// leastGuess is how long a delivery must have been held for its loss to tell
	// a limit that the broker did not name.
	leastGuess = time.Minute
)

// learn looks whether a delivery was lost because the broker's patience ended,
// when some delivery of its session had been held so long. From then on
// deliveries are held for half of that, so that none is counted against a
// message again.
func (l *holdLimit) learn(ctx context.Context, log *slog.Logger, held time.Duration) {
	timeout, ok := errors.AsType[*HoldTimeoutError](context.Cause(ctx))
	if !ok {
		return
	}
	limit := max(timeout.Limit, leastLimit)
	if timeout.Limit <= 0 {
		if limit = held; held < leastGuess {
			return // the session may be lost for another reason
		}
	}
	for {
		before := l.d.Load()
		if int64(limit/2) >= before {
			return
		}
		if l.d.CompareAndSwap(before, int64(limit/2)) {
			log.WarnContext(ctx, "the broker takes deliveries back that are held for longer than its own limit, and may count that against them; "+
				"from now on they wait outside after half of it: set HoldLimit (HOLD_LIMIT) to that, or raise the broker's limit (RabbitMQ: consumer_timeout)",
				"hold limit", time.Duration(before), "broker's limit", limit, "from now on", limit/2, "error", timeout)
			return
		}
	}
}
