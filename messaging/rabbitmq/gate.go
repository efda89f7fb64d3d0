package rabbitmq

import (
	"context"
	"time"
)

// Gate tells connections that wait for a server that one of them got through:
// after an outage none is to wait out a pause of its own once the server is
// back.
type Gate struct{ passed watched[struct{}] }

// NewGate makes a Gate.
func NewGate() *Gate { return &Gate{} }

// pass wakes everybody who waits.
func (g *Gate) pass() { g.passed.set(struct{}{}) }

// next closes when somebody passes from now on.
func (g *Gate) next() <-chan struct{} {
	_, next := g.passed.get()
	return next
}

// rest waits for d, or until woken, which it reports, or ctx ends.
func rest(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
		return true
	case <-ctx.Done():
	}
	return false
}
