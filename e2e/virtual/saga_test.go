package virtual

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"boxoffice/services/booking"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scenario is a random run, drawn before it begins: a failing one is shrunk
// and printed, with the seed that replays it (go test -run … -rapid.seed=…).
type scenario struct {
	door   booking.Limits
	steps  []step
	faults map[string][]fault
}

type step struct {
	after time.Duration
	what  string // "book", "crash", "drop", "outage" or "repeat"
	who   string // the service, or the event to repeat
	seat  int
	price string
	fault string // the booking's fault script, or ""
}

func (s step) String() string {
	return fmt.Sprintf("after %s %s %s seat %d for %s, fault %q", s.after, s.what, s.who, s.seat, s.price, s.fault)
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{faults: map[string][]fault{}}
	s.door = booking.Limits{
		Active:  rapid.IntRange(1, 4).Draw(t, "active"),
		Waiting: rapid.IntRange(0, 8).Draw(t, "waiting"),
		Overdue: rapid.IntRange(0, 4).Draw(t, "overdue"),
	}
	services := []string{tickets.Booking, tickets.Seats, tickets.Payments}
	for _, name := range services {
		s.faults[name] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
			return fault(rapid.IntRange(0, int(numberOfFaults)-1).Draw(t, "fault"))
		}), 0, 8).Draw(t, "faults of "+name)
	}
	s.steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			after: time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond,
			what: rapid.SampledFrom([]string{"book", "book", "book", "book", "crash", "drop", "outage", "repeat"}).
				Draw(t, "what"),
			who:   rapid.SampledFrom(services).Draw(t, "who"),
			seat:  rapid.IntRange(1, hall+1).Draw(t, "seat"), // one does not exist
			price: rapid.SampledFrom([]string{"450.5", "1000", "1000.01"}).Draw(t, "price"),
			fault: drawScript(t),
		}
	}), 1, 15).Draw(t, "steps")
	return s
}

// drawScript is a fault script of up to two faults, mostly of none.
func drawScript(t *rapid.T) string {
	var faults []string
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "faults") {
		queue := rapid.SampledFrom(tickets.System(nil).WorkQueues()).Draw(t, "queue")
		action := rapid.SampledFrom([]string{
			"fail", "fail*2", "fail*4", "poison", "drop", "drop*3", "drop-after-publish*2", "exit", "duplicate", "delay:7s",
		}).Draw(t, "action")
		faults = append(faults, queue+"="+action)
	}
	return strings.Join(faults, ",")
}

// mayPark reports whether a script of the scenario parks its own message.
func (s scenario) mayPark() bool {
	return slices.ContainsFunc(s.steps, func(st step) bool {
		return strings.Contains(st.fault, "poison") || strings.Contains(st.fault, "fail*4")
	})
}

// TestSagasSurviveAnything draws scenarios, runs each in virtual time and
// checks the invariants at its end.
func TestSagasSurviveAnything(t *testing.T) {
	bubbles := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt) // outside the bubble, which a failure of rapid's would kill unshrunk
		bubbles++
		var failure string
		t.Run(fmt.Sprint(bubbles), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(*testing.T) { failure = play(dir, s) })
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// play runs a scenario and says what is wrong at its end.
func play(dir string, s scenario) string {
	w := newWorld(dir, os.Stderr, s.door, hall, s.faults)
	defer w.stop()
	synctest.Wait()
	var accepted []uuid.UUID
	for _, st := range s.steps {
		time.Sleep(st.after)
		switch st.what {
		case "book":
			if id, ok := w.book(st.seat, st.price, st.fault); ok {
				accepted = append(accepted, id)
			}
		case "crash":
			w.procs[st.who].crash()
		case "drop":
			w.procs[st.who].drop()
		case "outage":
			w.server.Stop()
			time.Sleep(2 * time.Second)
			w.server.Start()
		case "repeat":
			if len(accepted) > 0 {
				w.repeat(accepted[st.seat%len(accepted)])
			}
		}
	}
	for _, err := range w.errs {
		return err.Error()
	}
	if found := w.quiet(accepted); len(found) > 0 {
		return fmt.Sprintf("not well after an hour: %v", found)
	}
	if n := w.parked(); n > 0 && !s.mayPark() {
		return fmt.Sprintf("%d messages were parked", n)
	}
	return ""
}
