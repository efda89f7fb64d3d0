package virtual

import (
	"context"
	"sync"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
)

// fault is what happens to one publish of one service.
type fault int

const (
	none        fault = iota
	duplicate         // it is published twice
	lose              // it is reported as stored, and is not: a parked or lost message
	delay             // it is held up, so that others overtake it
	dropBefore        // the connection is lost between the commit and the publish
	dropAfter         // … between the publish and the acknowledgement
	crashBefore       // the process dies between the commit and the publish
	crashAfter        // … between the publish and the acknowledgement
	numberOfFaults
)

func (f fault) String() string {
	return [...]string{"none", "duplicate", "lose", "delay", "drop before", "drop after", "crash before", "crash after"}[f]
}

// faulty is a service's connection on which some publishes meet faults: the
// next publish meets the next fault of the plan, until the plan is used up.
type faulty struct {
	*inproc.Conn
	plan  *plan
	crash func() // ends the process, and returns
}

// plan is shared by the incarnations of one service.
type plan struct {
	mu     sync.Mutex
	faults []fault
}

func (p *plan) next() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) == 0 {
		return none
	}
	f := p.faults[0]
	p.faults = p.faults[1:]
	return f
}

func (f *faulty) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	switch what := f.plan.next(); what {
	case duplicate:
		if err := f.Conn.Publish(ctx, exchange, key, m); err != nil {
			return err
		}
	case lose:
		return nil
	case delay:
		time.Sleep(7 * time.Second) // virtual
	case dropBefore, dropAfter, crashBefore, crashAfter:
		return f.interrupted(ctx, exchange, key, m, what)
	case none, numberOfFaults:
	}
	return f.Conn.Publish(ctx, exchange, key, m)
}

func (f *faulty) interrupted(ctx context.Context, exchange, key string, m messaging.Message, what fault) error {
	if what == dropAfter || what == crashAfter {
		if err := f.Conn.Publish(ctx, exchange, key, m); err != nil {
			return err
		}
	}
	if what == crashBefore || what == crashAfter {
		f.crash()
		return messaging.ErrClosed
	}
	f.Drop()
	if what == dropBefore {
		return f.Conn.Publish(ctx, exchange, key, m)
	}
	return nil
}
