package booking

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// A settlement is committed and its answer is lost, once, among other events of
// the booking: it is counted once, whatever comes before its retry.
func TestAnOutcomeIsCountedOnce(t *testing.T) {
	failed := func(b bookingJSON) messaging.Event {
		return tickets.PaymentFailed{BookingID: b.ID, Seat: 1, Reason: "insufficient funds"}
	}
	released := func(b bookingJSON) messaging.Event {
		return tickets.SeatReleased{BookingID: b.ID, Seat: 1, Reason: "insufficient funds"}
	}
	succeeded := func(b bookingJSON) messaging.Event { return tickets.PaymentSucceeded{BookingID: b.ID} }
	for name, c := range map[string]struct {
		settled, lost, then  func(bookingJSON) messaging.Event
		confirmed, cancelled int64
	}{
		"a second step of a counted booking":   {settled: failed, lost: released, cancelled: 1},
		"a duplicate of a counted outcome":     {settled: succeeded, lost: succeeded, confirmed: 1},
		"the second step comes before a retry": {lost: failed, then: released, cancelled: 1},
		"a duplicate comes before a retry":     {lost: succeeded, then: succeeded, confirmed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig())
				f := makeFlaky(t, r)
				r.run()
				b := r.book("1")
				publish := func(event func(bookingJSON) messaging.Event) {
					if event != nil {
						r.publish(event(b))
						synctest.Wait()
					}
				}
				publish(c.settled)
				lost := false
				f.set(nil, func(q string) error {
					if strings.Contains(q, "UPDATE bookings SET status") && !lost {
						lost = true
						return errDied
					}
					return nil
				})
				publish(c.lost)
				publish(c.then)
				time.Sleep(10 * time.Second)
				if confirmed, cancelled := r.counts.confirmed.Load(), r.counts.cancelled.Load(); !lost || confirmed != c.confirmed || cancelled != c.cancelled {
					t.Errorf("lost %v, confirmed %d, cancelled %d", lost, confirmed, cancelled)
				}
			})
		})
	}
}
