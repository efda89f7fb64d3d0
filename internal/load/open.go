package load

import (
	"context"
	"math"
	"sync"
	"time"
)

// open starts bookings at their times, and returns when all of them were
// answered and those that were accepted have their outcome.
func (g *Generator) open(offering, working context.Context) {
	results := newOutcomes(g.service, g.rec)
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { results.run(working) })
	defer results.complete()
	var outstanding sync.WaitGroup
	defer outstanding.Wait()

	g.arrivals(offering, &outstanding, func(seat int, due time.Time) {
		if b, err := g.book(offering, working, seat, due); err == nil {
			results.add(b.ID)
		}
	})
	g.rec.end()
}

// arrivals starts each booking at its time, on a goroutine of its own.
func (g *Generator) arrivals(offering context.Context, outstanding *sync.WaitGroup, book func(seat int, due time.Time)) {
	room := make(chan struct{}, g.cfg.MaxOutstanding)
	began := time.Now()
	for i := 0; g.more(offering); i++ {
		due := began.Add(time.Duration(math.Round(float64(i) / g.cfg.Rate * float64(time.Second))))
		if !sleep(offering, time.Until(due)) {
			return
		}
		select {
		case room <- struct{}{}:
		default:
			g.rec.arrival(time.Since(due))
			g.rec.overflow()
			continue
		}
		seat, ok := g.seats.draw()
		if !ok {
			g.rec.drawnOut()
			return
		}
		g.rec.arrival(time.Since(due))
		outstanding.Go(func() {
			defer func() { <-room }()
			book(seat, due)
		})
	}
}
