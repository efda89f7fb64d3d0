package messaging

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxPause bounds every pause between two tries: nothing is to wait for long
// once what it needs works again.
const maxPause = 3 * time.Second

// backoff doubles from first to most, with jitter: each wait is between half
// of it and all of it, so that held deliveries do not knock in step.
type backoff struct{ current, most time.Duration }

func newBackoff(first, most time.Duration) *backoff { return &backoff{current: first, most: most} }

func (b *backoff) next() time.Duration {
	d := b.current
	b.current = min(b.current*2, b.most)
	return d/2 + rand.N(d/2+1)
}

// pause waits for d and reports true, or false as soon as ctx or stop ends it.
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}
