package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"boxoffice/internal/testserver"
	"boxoffice/tickets"
)

// These tests end the shared servers, so they do not run beside others.

// The broker is killed while sagas run. What was accepted meanwhile waits for it.
func TestKilledBroker(t *testing.T) {
	s := newStack(t, quickly...)
	l := startLoad(t, s.client, loadSize, loadMiddle)
	l.wait(t, l.middle)
	outage(t, s.broker.Kill, s.broker.Start, func() {
		close(l.goOn)
		l.all(t)
		s.unfinished()
	})
	s.recovered(l.all(t))
}

// outage ends a server for as long as something takes. Other tests find it
// started again even if this one fails meanwhile.
func outage(t *testing.T, end, start func(testing.TB), meanwhile func()) {
	t.Helper()
	end(t)
	defer start(t)
	meanwhile()
}

// heldTimes is how often a delivery is tried in vain in the database's absence:
// with the waits between, for several seconds, and so for longer than any
// retry would last.
const heldTimes = 7

// The database stops while sagas run, for longer than failed messages are tried
// again. Its absence is nobody's failure: nothing is parked.
func TestStoppedDatabase(t *testing.T) {
	s := newStack(t, append(quickly, "LOG_LEVEL=debug")...) // which tells of each try
	l := startLoad(t, s.client, loadSize, loadMiddle)
	l.wait(t, l.middle)
	postgres := testserver.SharedPostgres(t)
	outage(t, postgres.Stop, postgres.Start, func() {
		close(l.goOn)
		l.refused(t)
		eventually(t, "wait until a delivery was held for long", func(context.Context) error {
			if n := mostHeld(s.programs[tickets.Payments].stderr()); n < heldTimes {
				return fmt.Errorf("it was held %d times", n)
			}
			return nil
		})
	})
	s.recovered(l.all(t))
}

// mostHeld is how often the log says that the same delivery was held.
func mostHeld(log string) int {
	most, times := 0, map[string]int{}
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"msg":"held; trying again"`) {
			continue
		}
		_, rest, _ := strings.Cut(line, `"booking":"`)
		booking, _, _ := strings.Cut(rest, `"`)
		times[booking]++
		most = max(most, times[booking])
	}
	return most
}
