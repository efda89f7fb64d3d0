package seats

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Every event in every state, twice: the second time changes nothing and says
// the same. "taken" is a seat that another booking holds.
func TestEveryEventInEveryState(t *testing.T) {
	const seat, taken, beyond = 5, 6, total + 1
	type event = func(uuid.UUID) messaging.Event
	bookingCreated := func(n int) event { return func(id uuid.UUID) messaging.Event { return created(id, n) } }
	paymentFailed := func(n int) event { return func(id uuid.UUID) messaging.Event { return failed(id, n) } }
	isReserved := func(n int) event { return func(id uuid.UUID) messaging.Event { return reserved(id, n) } }
	isRejected := func(n int) event { return func(id uuid.UUID) messaging.Event { return rejected(id, n) } }
	isReleased := func(n int) event { return func(id uuid.UUID) messaging.Event { return released(id, n) } }
	nothing := func(uuid.UUID) messaging.Event { return nil }

	cases := []struct {
		name   string
		before []event // brings the row into its state
		event  event
		want   event
		status Status
	}{
		{"created, no row, free", nil, bookingCreated(seat), isReserved(seat), Reserved},
		{"created, no row, taken", nil, bookingCreated(taken), isRejected(taken), Rejected},
		{"created, no row, no such seat", nil, bookingCreated(beyond), isRejected(beyond), Rejected},
		{"created, reserved", []event{bookingCreated(seat)}, bookingCreated(seat), isReserved(seat), Reserved},
		{"created, rejected", []event{bookingCreated(taken)}, bookingCreated(taken), isRejected(taken), Rejected},
		{"created, released", []event{bookingCreated(seat), paymentFailed(seat)}, bookingCreated(seat), isReleased(seat), Released},
		{"created, tombstone", []event{paymentFailed(seat)}, bookingCreated(seat), isReleased(seat), Released},
		{"failed, no row", nil, paymentFailed(seat), isReleased(seat), Released},
		{"failed, no row, taken", nil, paymentFailed(taken), isReleased(taken), Released},
		{"failed, reserved", []event{bookingCreated(seat)}, paymentFailed(seat), isReleased(seat), Released},
		{"failed, released", []event{bookingCreated(seat), paymentFailed(seat)}, paymentFailed(seat), isReleased(seat), Released},
		{"failed, tombstone", []event{paymentFailed(seat)}, paymentFailed(seat), isReleased(seat), Released},
		{"failed, rejected", []event{bookingCreated(taken)}, paymentFailed(taken), nothing, Rejected},
		// The row wins over an event that names another seat.
		{"created, reserved, other seat", []event{bookingCreated(seat)}, bookingCreated(seat + 2), isReserved(seat), Reserved},
		{"failed, reserved, other seat", []event{bookingCreated(seat)}, paymentFailed(seat + 2), isReleased(seat), Released},
		{"failed, reserved, seat of another", []event{bookingCreated(seat)}, paymentFailed(taken), isReleased(seat), Released},
		{"created, tombstone, other seat", []event{paymentFailed(seat)}, bookingCreated(seat + 2), isReleased(seat), Released},
	}
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				empty(t, r)
				holder, id := newID(), newID()
				r.expect(t, created(holder, taken), reserved(holder, taken))
				for _, e := range c.before {
					r.hand(t, e(id))
				}
				for range 2 {
					r.expect(t, c.event(id), c.want(id))
					if row := r.row(t, id); row.Status != c.status {
						t.Errorf("the row is %s, want %s", row.Status, c.status)
					}
				}
				if row := r.row(t, holder); row.Status != Reserved || row.Seat != taken {
					t.Errorf("the bystander's row became %+v", row)
				}
			})
		}
	})
}

func TestDisagreementIsLogged(t *testing.T) {
	for _, c := range []struct {
		name string
		e    func(uuid.UUID) messaging.Event
		want string
	}{
		{"same", func(id uuid.UUID) messaging.Event { return created(id, 5) }, ""},
		{"other seat", func(id uuid.UUID) messaging.Event { return created(id, 7) }, "BookingCreated disagrees"},
		{"other amount", func(id uuid.UUID) messaging.Event {
			e := created(id, 5)
			e.Amount = tickets.MustAmount("1")
			return e
		}, "BookingCreated disagrees"},
		{"failed, other seat", func(id uuid.UUID) messaging.Event { return failed(id, 7) }, "PaymentFailed disagrees"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, id := newReplica(t, "sqlite:"), newID()
			r.hand(t, created(id, 5))
			r.hand(t, c.e(id))
			logged := r.logs.String()
			if !strings.Contains(logged, c.want) || c.want == "" && strings.Contains(logged, "disagrees") {
				t.Errorf("log %q, want %q", logged, c.want)
			}
		})
	}
}

func TestTombstoneThatIsOvertakenDoesNotDisagree(t *testing.T) {
	r, id := newReplica(t, "sqlite:"), newID()
	r.hand(t, failed(id, 5))
	r.hand(t, created(id, 5)) // the tombstone does not know the amount
	if logged := r.logs.String(); strings.Contains(logged, "disagrees") {
		t.Errorf("logged %q", logged)
	}
}

func TestReleasedSeatCanBeSoldAgainAndOnlyOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r, ivan, maria := newReplica(t, url), newID(), newID()
		r.expect(t, created(ivan, 7), reserved(ivan, 7))
		r.expect(t, failed(ivan, 7), released(ivan, 7))
		r.expect(t, created(maria, 7), reserved(maria, 7))
		// Late duplicates about ivan's booking name a seat that is maria's now.
		r.expect(t, created(ivan, 7), released(ivan, 7))
		r.expect(t, failed(ivan, 7), released(ivan, 7))
		if row := r.row(t, maria); row.Status != Reserved {
			t.Errorf("maria's row is %s", row.Status)
		}
	})
}

func TestReleaseKeepsItsFirstReason(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r, id := newReplica(t, url), newID()
		r.hand(t, created(id, 5))
		r.expect(t, failed(id, 5), released(id, 5))
		again := failed(id, 5)
		again.Reason = "another reason"
		r.expect(t, again, released(id, 5))
	})
}

func TestUnknownReservation(t *testing.T) {
	r := newReplica(t, "sqlite:")
	if _, err := r.store.get(t.Context(), newID()); !errors.Is(err, errNotFound) {
		t.Errorf("get of an unknown booking: %v", err)
	}
}
