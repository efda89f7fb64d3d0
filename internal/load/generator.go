package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"boxoffice/internal/client"
)

// hurry is how long answers and outcomes may take once somebody has lost patience.
const hurry = 2 * time.Second

// Generator offers bookings to a service, once.
type Generator struct {
	cfg     Config
	service Service
	seats   *seats
	rec     *recorder
	taken   atomic.Int64 // of Config.Count
}

// New makes a Generator.
func New(cfg Config, s Service) *Generator {
	return &Generator{cfg: cfg, service: s, seats: newSeats(cfg.Seats, cfg.Choice), rec: newRecorder()}
}

// Progress is how far Run is. It may be called at any time.
func (g *Generator) Progress() Progress { return g.rec.progress() }

// Run offers bookings until the configured end or the end of ctx, waits for the
// outcomes of those that were accepted, though not for long if ctx ended, and
// says what it saw. When it returns nothing runs any more.
func (g *Generator) Run(ctx context.Context) Result {
	g.rec.begin()
	offering, stop := context.WithTimeout(ctx, g.cfg.Duration)
	defer stop()
	working, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if g.cfg.Mode == Open {
			g.open(offering, working)
		} else {
			g.closed(offering, working)
		}
	}()
	select {
	case <-done:
	case <-offering.Done():
	}
	g.rec.end()
	settle(ctx, done, g.cfg.Settle)
	cut(errors.New("not answered when the run ended"))
	<-done
	return g.result()
}

// settle waits for done, for so long or until shortly after the end of ctx.
func settle(ctx context.Context, done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
		return
	case <-ctx.Done():
	}
	timer.Reset(min(limit, hurry))
	select {
	case <-done:
	case <-timer.C:
	}
}

// more takes one of the bookings that may be offered.
func (g *Generator) more(offering context.Context) bool {
	return offering.Err() == nil && (g.cfg.Count == 0 || g.taken.Add(1) <= int64(g.cfg.Count))
}

// book makes a booking that is due at a time, and, if it is refused, again as
// often as is allowed for as long as load is offered.
func (g *Generator) book(offering, working context.Context, seat int, due time.Time) (client.Booking, error) {
	w := client.Wish{Seat: seat, Customer: fmt.Sprintf("load-%d", seat), Amount: g.cfg.Amount}
	for try := 0; ; try++ {
		b, err := g.service.Book(working, w)
		g.rec.answer(b, err, time.Since(due))
		if err == nil {
			return b, nil
		}
		p, ok := errors.AsType[*client.ProblemError](err)
		if !ok || p.Status == http.StatusGatewayTimeout {
			return b, err // it may be booked all the same
		}
		if !p.Refused() || try == g.cfg.Retries || !sleep(offering, max(p.RetryAfter, time.Second)) {
			g.seats.giveBack(seat)
			return b, err
		}
		g.rec.retry()
		due = time.Now()
	}
}

// sleep waits for d, and reports whether ctx did not end before.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
