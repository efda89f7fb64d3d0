package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"boxoffice/tickets"
)

// quickly makes whatever waits wait for less; the bank takes its time, so that
// there is a middle to strike in.
var quickly = []string{loadSeats, "RETRY_DELAYS=100ms,300ms", "SAGA_DEADLINE=3s", "BANK_CONCURRENCY=2"}

// A service is killed while the first sagas run, and again while it catches up
// with the others.
func TestKilledService(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, quickly...)
			l := startLoad(t, s.client, loadSize, loadMiddle)
			l.wait(t, l.middle)
			s.programs[name].kill()
			s.goOnWithout(name, l)
			s.restart(name)
			accepted := l.all(t)
			s.decided(loadSize / 2)
			s.programs[name].kill()
			s.restart(name)
			s.recovered(accepted)
		})
	}
}

// A service that is asked to stop in the middle of its work does so in time.
func TestStoppedService(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, quickly...)
			l := startLoad(t, s.client, loadSize, loadMiddle)
			l.wait(t, l.middle)
			s.stop(name)
			s.goOnWithout(name, l)
			s.start(name)
			s.recovered(l.all(t))
		})
	}
}

// goOnWithout lets the load go on, and returns when it has felt that a service is down.
func (s *stack) goOnWithout(name string, l *load) {
	s.t.Helper()
	close(l.goOn)
	if name == tickets.Booking {
		l.refused(s.t)
		return
	}
	l.all(s.t)
	s.unfinished()
}

// restart starts a service again that was killed in the middle of its work.
func (s *stack) restart(name string) {
	s.t.Helper()
	s.start(name)
	if name == tickets.Booking {
		s.programs[name].says("taking up unfinished bookings")
	}
}

// unfinished fails unless some booking is Pending, for want of what is down.
func (s *stack) unfinished() {
	s.t.Helper()
	if _, pending, err := s.outcomes(s.t.Context()); err != nil || pending == 0 {
		s.t.Errorf("%d bookings are Pending: %v", pending, err)
	}
}

// decided waits until n bookings are no longer Pending.
func (s *stack) decided(n int) {
	s.t.Helper()
	eventually(s.t, "wait for outcomes", func(ctx context.Context) error {
		have, _, err := s.outcomes(ctx)
		if err == nil && have < n {
			err = fmt.Errorf("there are %d, not %d", have, n)
		}
		return err
	})
}

func (s *stack) outcomes(ctx context.Context) (decided, pending int, err error) {
	var page struct{ Bookings []struct{ Status string } }
	if err := s.get(ctx, s.targets.Booking+"/bookings?limit=1000", &page); err != nil {
		return 0, 0, err
	}
	for _, b := range page.Bookings {
		if b.Status == "Pending" {
			pending++
		} else {
			decided++
		}
	}
	return decided, pending, nil
}

// recovered checks what must be true after any fault: every accepted booking
// has ended, the invariants hold, nothing was parked, and no message is left.
func (s *stack) recovered(accepted []uuid.UUID) {
	s.t.Helper()
	everyOutcome(s.t, s.settled(accepted...))
	var stats struct{ Conflicts, Stalled int }
	if err := s.get(s.t.Context(), s.targets.Booking+"/stats", &stats); err != nil || stats.Conflicts+stats.Stalled > 0 {
		s.t.Errorf("stats: %+v %v", stats, err)
	}
	s.endWell()
}
