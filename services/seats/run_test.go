package seats

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func TestRun(t *testing.T) {
	participanttest.TestRun(t, func(t *testing.T, url string, broker messaging.Broker) participanttest.Service {
		return newService(t, url, broker, false)
	}, "seats.BookingCreated", "seats.PaymentFailed")
}

// goal ends a run that comes so far as to ask for the topology.
type goal struct {
	participanttest.Deaf
	reached context.CancelFunc
}

func (g goal) Declare(ctx context.Context, _ messaging.Topology, _ messaging.TopologyMode) error {
	g.reached()
	return ctx.Err()
}

// A hall that shrank below a seat that is held would not add up.
func TestRunRefusesAHallThatIsTooSmall(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		lost, held, gone := newID(), newID(), newID()
		r.expect(t, created(held, 5), reserved(held, 5))
		r.expect(t, created(gone, 7), reserved(gone, 7))
		r.expect(t, failed(gone, 7), released(gone, 7))
		r.expect(t, created(lost, 99), rejected(lost, 99))
		for hall, fits := range map[int]bool{3: false, 4: false, 5: true, 6: true} {
			ctx, cancel := context.WithCancel(t.Context())
			deps, _ := participanttest.Deps(t, tickets.Seats, url, goal{reached: cancel})
			err := New(Config{Total: hall}, deps).Run(ctx)
			if fits != (ctx.Err() != nil) || fits != (err == nil) {
				t.Fatalf("a hall of %d: %v", hall, err)
			}
			for _, want := range []string{"SEATS_TOTAL is " + strconv.Itoa(hall), "seat 5", held.String()} {
				if !fits && !strings.Contains(err.Error(), want) {
					t.Errorf("a hall of %d: unclear: %v", hall, err)
				}
			}
			cancel()
		}
	})
}
