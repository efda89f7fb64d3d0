package experiment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"boxoffice/internal/client"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// watch is a fourth participant, which only looks.
type watch struct {
	cancel  context.CancelFunc
	ended   chan struct{}
	mu      sync.Mutex
	seen    []sighting
	changed chan struct{} // closed and replaced with each event
}

// sighting is one event that was published.
type sighting struct {
	event, booking string
	at             time.Time
}

// newWatch returns once nothing more is missed.
func newWatch(ctx context.Context, b messaging.Broker) (*watch, error) {
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{})}
	ready := make(chan struct{})
	var once sync.Once
	failed := make(chan error, 1)
	go func() {
		defer close(w.ended)
		failed <- b.Observe(watching, messaging.Observation{
			Exchange: tickets.ExchangeEvents, Keys: []string{"#"}, Buffer: 10_000, Ready: func() { once.Do(func() { close(ready) }) }, See: w.see,
		})
	}()
	select {
	case <-ready:
		return w, nil
	case err := <-failed:
		w.close()
		return nil, fmt.Errorf("watch the events: %w", err)
	case <-ctx.Done():
		w.close()
		return nil, context.Cause(ctx)
	}
}

func (w *watch) close() {
	w.cancel()
	<-w.ended
}

func (w *watch) see(key string, m messaging.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, sighting{key, m.CorrelationID, time.Now()})
	close(w.changed)
	w.changed = make(chan struct{})
}

// of is the events of one booking so far.
func (w *watch) of(booking string) (seen []sighting, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s.booking == booking {
			seen = append(seen, s)
		}
	}
	return seen, w.changed
}

// toBeSeen is how long an event takes at the most to get here.
const toBeSeen = 5 * time.Second

// sameBroker makes sure, once, that the broker we have a hand on is the one that
// the services use: the first event of a booking is seen there. Else what we
// publish would reach strangers.
func (s *Stage) sameBroker(ctx context.Context, booking string) error {
	if s.watch == nil || s.same {
		return nil
	}
	limit := time.NewTimer(toBeSeen)
	defer limit.Stop()
	for {
		seen, changed := s.watch.of(booking)
		if s.same = len(seen) > 0; s.same {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return fmt.Errorf("%w: no event of booking %s was seen on %s within %s: the services use another broker, or another virtual host\n"+
				"BROKER_URL must be theirs; for boxoffice up, whose broker is in its process, leave it out", ErrCannot, booking, s.At, toBeSeen)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SeatsSays waits until the seats service has answered events about a booking n
// times, and returns its last answer. That patience ends first is not as it should be.
func (s *Stage) SeatsSays(ctx context.Context, b client.Booking, n int) (string, error) {
	stop := s.waits("for what seats answers about %s's booking, %s at most", b.Customer, s.Patience)
	defer stop()
	limit := time.NewTimer(s.Patience)
	defer limit.Stop()
	for {
		seen, changed := s.watch.of(b.ID)
		answers := 0
		for _, e := range seen {
			if strings.HasPrefix(e.event, "Seat") {
				answers++
			}
			if answers == n {
				s.Say("seats answers: %s", e.event)
				return e.event, nil
			}
		}
		select {
		case <-changed:
		case <-limit.C:
			s.Expect(false, "seats answers %s about %s's booking (it answered %s)", times(n), b.Customer, times(answers))
			return "", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// timeline is a booking's events, and when they were seen.
func (s *Stage) timeline(b client.Booking) string {
	seen, _ := s.watch.of(b.ID)
	if len(seen) == 0 {
		return "none was seen"
	}
	texts := make([]string, len(seen))
	for i, e := range seen {
		texts[i] = fmt.Sprintf("%s at %d ms", e.event, e.at.Sub(s.began).Milliseconds())
	}
	return strings.Join(texts, ", ")
}
