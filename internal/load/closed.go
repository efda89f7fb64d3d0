package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"boxoffice/internal/client"
)

// unanswered is how long a client of a closed loop waits after a request that
// got no answer: it would else spin.
const unanswered = 100 * time.Millisecond

// closed runs the clients of a closed loop, and returns when the last has its
// last outcome.
func (g *Generator) closed(offering, working context.Context) {
	var clients sync.WaitGroup
	defer clients.Wait()
	for range g.cfg.Concurrency {
		clients.Go(func() { g.client(offering, working) })
	}
}

func (g *Generator) client(offering, working context.Context) {
	for g.more(offering) {
		seat, ok := g.seats.draw()
		if !ok {
			g.rec.drawnOut()
			return
		}
		g.rec.arrival(0)
		b, err := g.book(offering, working, seat, time.Now())
		if err == nil {
			if b, err = g.service.Finish(working, b); err == nil {
				g.rec.outcome(b)
			}
			continue
		}
		if _, answered := errors.AsType[*client.ProblemError](err); !answered && !sleep(offering, unanswered) {
			return
		}
	}
}
