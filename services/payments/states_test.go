package payments

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// SeatReserved in every state, twice: the second time changes nothing and says
// the same, whatever the event says by then.
func TestSeatReservedInEveryState(t *testing.T) {
	cases := []struct {
		name    string
		before  tickets.Amount // of the event that brought the row into its state; zero: no row
		amount  tickets.Amount
		want    func(uuid.UUID) messaging.Event
		status  Status
		charges int
		paid    tickets.Amount
	}{
		{"no row, within the limit", tickets.Amount{}, affordable, succeeded, Succeeded, 1, affordable},
		{"no row, at the limit", tickets.Amount{}, tickets.MustAmount("1000"), succeeded, Succeeded, 1, tickets.MustAmount("1000")},
		{"no row, above the limit", tickets.Amount{}, tooMuch, failed, Failed, 0, tooMuch},
		{"succeeded", affordable, affordable, succeeded, Succeeded, 1, affordable},
		{"failed", tooMuch, tooMuch, failed, Failed, 0, tooMuch},
		{"succeeded, the event asks for too much", affordable, tooMuch, succeeded, Succeeded, 1, affordable},
		{"failed, the event asks for less", tooMuch, affordable, failed, Failed, 0, tooMuch},
	}
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url, plain())
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				id, logged := newID(), len(r.logs.String())
				if c.before.IsPositive() {
					r.expect(t, seatReserved(id, c.before), c.want(id))
				}
				for range 2 {
					r.expect(t, seatReserved(id, c.amount), c.want(id))
					r.expectRow(t, id, c.status, c.charges)
					if v, err := r.store.get(t.Context(), id); err != nil || v.Amount != c.paid {
						t.Errorf("the payment's amount is %v (%v), want %v", v.Amount, err, c.paid)
					}
				}
				log := r.logs.String()[logged:]
				if got := strings.Contains(log, "disagrees"); got != (c.before.IsPositive() && c.before != c.amount) {
					t.Errorf("a disagreement is logged: %t; log: %s", got, log)
				}
			})
		}
	})
}

func TestAnotherSeatDisagreesAndTheRowWins(t *testing.T) {
	r, id := newReplica(t, "sqlite:", plain()), newID()
	r.expect(t, seatReserved(id, tooMuch), failed(id))
	e := seatReserved(id, tooMuch)
	e.Seat = 7
	r.expect(t, e, failed(id)) // of seat 5
	if !strings.Contains(r.logs.String(), "SeatReserved disagrees") {
		t.Errorf("not logged: %s", r.logs)
	}
}
