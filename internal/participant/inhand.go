package participant

import (
	"context"
	"sync"
	"time"

	"boxoffice/messaging"
)

// inHand counts the deliveries that a service has got and not settled: those
// that it handles, and those that it holds.
type inHand struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again; nil: it is
}

func (h *inHand) add() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n++; h.n == 1 {
		h.idle = make(chan struct{})
	}
}

func (h *inHand) done() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n--; h.n == 0 {
		close(h.idle)
		h.idle = nil
	}
}

func (h *inHand) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idle
}

// idle reports whether the service has no delivery in hand at some moment
// before ctx ends or the patience does. The last event of a saga is seen
// elsewhere a moment before its delivery is settled here. It knows nothing of
// messages that wait in a queue, or that another replica has.
func (p *Participant) idle(ctx context.Context, patience time.Duration) bool {
	idle := p.deliveries.wait()
	if idle == nil {
		return true
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// counting is a broker whose deliveries are counted.
type counting struct {
	messaging.Broker
	deliveries *inHand
}

func (c counting) Consume(ctx context.Context, s messaging.Subscription) error {
	handle := s.Handle
	s.Handle = func(ctx context.Context, d *messaging.Delivery) {
		c.deliveries.add()
		defer c.deliveries.done()
		handle(ctx, d)
	}
	return c.Broker.Consume(ctx, s)
}
