package messagingtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"boxoffice/messaging"
)

// RunSystem checks on this broker that a system's topology does what its routes
// say, for each of its events and work queues. Its retry delays are replaced by
// as many short ones, so that they can be waited out.
func RunSystem(t *testing.T, h Harness, s messaging.System) {
	t.Helper()
	delays := make([]time.Duration, len(s.RetryDelays))
	for i := range delays {
		delays[i] = time.Duration(i+1) * shortDelay
	}
	s.RetryDelays = delays
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	on := func(check func(*system)) func(*fixture) {
		return func(f *fixture) {
			b := f.connect("system")
			if err := b.Declare(f.ctx, s.Topology(), messaging.TopologyDeclare); err != nil {
				f.Fatalf("declare: %v", err)
			}
			check(&system{f, s, b})
		}
	}
	h.run(t, map[string][]clause{"system": {
		{"each event reaches the queues of its consumers and no other", "", on((*system).routes)},
		{"a retry waits out its delay, and returns to the one queue that failed", "", on((*system).retries)},
		{"a work queue's messages are parked, and redriven to it alone", "", on((*system).parks)},
		{"a check of the declared topology passes", "", on((*system).passes)},
	}})
}

// system is a system on a broker of its own, with all that it needs declared.
type system struct {
	*fixture
	messaging.System
	b messaging.Broker
}

// expect fails unless just these messages wait, by queue, and none elsewhere.
func (s *system) expect(want map[string][]string) {
	s.Helper()
	for _, q := range s.Topology().Queues {
		s.expectContents(s.b, q.Name, want[q.Name]...)
	}
}

func (s *system) routes() {
	want := map[string][]string{}
	for _, v := range s.Services {
		for _, e := range v.Consumes {
			want[s.Queue(v.Name, e)] = []string{e}
		}
	}
	for _, e := range s.Events() {
		err := s.b.Publish(s.ctx, s.EventsExchange(), e, message(e))
		heard := slices.ContainsFunc(s.Services, func(v messaging.Service) bool { return slices.Contains(v.Consumes, e) })
		if heard && err != nil || !heard && !errors.Is(err, messaging.ErrUnroutable) {
			s.Errorf("publish %s: %v", e, err)
		}
	}
	s.expect(want)
}

func (s *system) retries() {
	for _, v := range s.Services {
		for _, e := range v.Consumes {
			queue := s.Queue(v.Name, e)
			for _, delay := range s.RetryDelays {
				id := messaging.RetryKey(delay, queue)
				sent := time.Now()
				s.publish(s.b, s.RetryExchange(), id, message(id))
				d := s.next(queue)
				if waited := time.Since(sent); d.ID != id || waited < delay-clockError {
					s.Errorf("%s: after %v came %s", id, waited, d.ID)
				}
				if death := latestDeath(s.fixture, d.Message); death["queue"] != s.WaitQueue(v.Name, delay) {
					s.Errorf("%s: it waited in %v", id, death["queue"])
				}
			}
		}
	}
	s.expect(nil) // no copy came anywhere else
}

func (s *system) parks() {
	parked, redriven := map[string][]string{}, map[string][]string{}
	for _, q := range s.WorkQueues() {
		s.publish(s.b, s.DeadExchange(), q, message(q))
		parked[messaging.DeadQueue(q)], redriven[q] = []string{q}, []string{q}
	}
	s.expect(parked)
	letters := messaging.NewDeadLetters(s.b, s.System, "operator", messaging.Instruments{})
	for _, q := range s.WorkQueues() {
		n, err := letters.Redrive(s.ctx, q, func(messaging.DeadLetter) bool { return true })
		if n != 1 || err != nil {
			s.Errorf("redrive %s: %d, %v", q, n, err)
		}
	}
	s.expect(redriven)
}

func (s *system) passes() {
	if err := s.connect("another").Declare(s.ctx, s.Topology(), messaging.TopologyCheck); err != nil {
		s.Errorf("check: %v", err)
	}
	for _, q := range s.WorkQueues() {
		if err := s.b.Browse(s.ctx, q, func(context.Context, messaging.Message) (bool, error) { return false, nil }); err != nil {
			s.Errorf("browse %s: %v", q, err)
		}
	}
}
