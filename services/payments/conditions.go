package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

const (
	// labLook is how often a replica looks at what another one has changed.
	labLook = 100 * time.Millisecond
	// gatePatience is how long a charge waits at the gate before the consumer
	// gets its delivery back, to hold it. The consumer can hold one for days, the
	// broker would not let a handler have one for more than half an hour.
	gatePatience = 5 * time.Minute
)

var (
	errInjected = errors.New("the lab wants it so")
	errClosed   = errors.New("it stays closed")
	errStopping = errors.New("the service stops")
)

// conditions are what the lab does to the bank; the zero value is nothing.
type conditions struct {
	version int64          // grows with each change
	closed  bool           // the gate: no charge gets through
	failure float64        // how likely the bank fails to answer, from 0 to 1
	when    Stage          // at which stage
	delay   *time.Duration // how long a charge takes; nil: as configured
}

// lab is what the bank's charges meet on this replica. The conditions live in
// the database, so that every replica obeys and a restart changes nothing, but
// charges look at a copy: the replica that gets a change knows it at once, the
// others when they look next.
type lab struct {
	db     *database.DB
	log    *slog.Logger
	random func() float64
	ended  chan struct{} // closed when nobody watches any more

	mu     sync.Mutex
	now    conditions
	opened chan struct{} // closed when the gate opens; nil while it is open
}

func newLab(db *database.DB, log *slog.Logger, random func() float64) *lab {
	if random == nil {
		random = rand.Float64
	}
	return &lab{db: db, log: log, random: random, ended: make(chan struct{})}
}

// watch keeps the copy fresh until ctx ends. Then whoever is held at the gate
// is sent away, because nobody would tell him that it opens.
func (l *lab) watch(ctx context.Context) {
	defer close(l.ended)
	ticker := time.NewTicker(labLook)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		err := l.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			l.log.WarnContext(ctx, "cannot see what the lab does to the bank; it stays as it was, until that works again", "error", err)
		}
		if err == nil && failing {
			l.log.InfoContext(ctx, "sees again what the lab does to the bank")
		}
		failing = err != nil
	}
}

// apply makes the copy c. A slow look never undoes a newer change.
func (l *lab) apply(ctx context.Context, c conditions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.version <= l.now.version {
		return
	}
	gate, delay := "open", "as configured"
	switch {
	case c.closed && l.opened == nil:
		l.opened = make(chan struct{})
	case !c.closed && l.opened != nil:
		close(l.opened)
		l.opened = nil
	}
	l.now = c
	if c.closed {
		gate = "closed"
	}
	if c.delay != nil {
		delay = c.delay.String()
	}
	l.log.InfoContext(ctx, "the lab changes the bank", "gate", gate, "failure", c.failure, "when", c.when, "delay", delay)
}

func (l *lab) get() (now conditions, opened <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.opened
}

func (l *lab) closed() bool {
	_, opened := l.get()
	return opened != nil
}

// passGate returns when the gate is open, or with an error when it has been
// closed for too long.
func (l *lab) passGate(ctx context.Context, id uuid.UUID) error {
	_, opened := l.get()
	if opened == nil {
		return nil
	}
	l.log.InfoContext(ctx, "a charge is held at the bank's gate", "booking", id)
	patience := time.NewTimer(gatePatience)
	defer patience.Stop()
	var err error
	for opened != nil && err == nil {
		select {
		case <-opened:
			_, opened = l.get() // it may be closed again
		case <-patience.C:
			err = errClosed
		case <-ctx.Done():
			err = ctx.Err()
		case <-l.ended:
			err = errStopping
		}
	}
	if err != nil {
		return fmt.Errorf("wait at the bank's gate: %w", err)
	}
	return nil
}

// fault is an error if the bank fails to answer at this stage.
func (l *lab) fault(s Stage) error {
	now, _ := l.get()
	if now.failure == 0 || now.when != s || l.random() >= now.failure {
		return nil
	}
	return fmt.Errorf("the bank does not answer (%s the charge): %w", s, errInjected)
}

// delay is how long a charge takes.
func (l *lab) delay(configured time.Duration) time.Duration {
	if now, _ := l.get(); now.delay != nil {
		return *now.delay
	}
	return configured
}
