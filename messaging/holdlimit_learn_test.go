package messaging

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// A broker that names its limit is believed, within reason. One that does not is
// understood only if something was held for so long that nothing else explains it.
func TestWhatALossTeaches(t *testing.T) {
	const configured = 15 * time.Minute
	for name, c := range map[string]struct {
		cause error
		held  time.Duration // the longest of the session
		want  time.Duration
	}{
		"named":                {&HoldTimeoutError{Limit: 8 * time.Second, Err: errors.New("x")}, 8 * time.Second, 4 * time.Second},
		"named, and generous":  {&HoldTimeoutError{Limit: time.Hour, Err: errors.New("x")}, time.Hour, configured},
		"named, and absurd":    {&HoldTimeoutError{Limit: time.Millisecond, Err: errors.New("x")}, time.Second, leastLimit / 2},
		"unnamed, all young":   {&HoldTimeoutError{Err: errors.New("x")}, 2 * time.Millisecond, configured},
		"unnamed, one was old": {&HoldTimeoutError{Err: errors.New("x")}, 10 * time.Minute, 5 * time.Minute},
		"another reason":       {errors.New("the channel was lost"), 10 * time.Minute, configured},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		var l holdLimit
		l.d.Store(int64(configured))
		l.learn(ctx, slog.New(slog.DiscardHandler), c.held)
		if got := l.get(); got != c.want {
			t.Errorf("%s: held for %s from now on, want %s", name, got, c.want)
		}
	}
}
