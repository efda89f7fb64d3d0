package booking

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

// A booking's outcome is committed, and the answer is lost; what comes next
// finds that the row says so already: a retry, a duplicate, or the next step.
// Who waits is woken then, without the look for what other replicas commit.
func TestAnOutcomeWhoseAnswerWasLostWakesWhoWaits(t *testing.T) {
	for name, c := range map[string]struct {
		lost, then func(bookingJSON) messaging.Event
	}{
		"by the retry": {lost: succeeded},
		"by the step that overtakes the retry": {
			lost: func(b bookingJSON) messaging.Event {
				return tickets.PaymentFailed{BookingID: b.ID, Seat: 1, Reason: "insufficient funds"}
			},
			then: func(b bookingJSON) messaging.Event {
				return tickets.SeatReleased{BookingID: b.ID, Seat: 1, Reason: "insufficient funds"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig())
				f := makeFlaky(t, r)
				r.run()
				b := r.book("1")
				lost := false
				f.set(func(q string) error {
					if strings.Contains(q, "bookings.status <> 'Pending'") { // the look
						return errDied
					}
					return nil
				}, func(q string) error {
					if strings.Contains(q, "UPDATE bookings SET status") && !lost {
						lost = true
						return errDied
					}
					return nil
				})
				woken := make(chan bookingJSON, 1)
				began := time.Now()
				go func() {
					woken <- decode[bookingJSON](t, r.do("GET", "/bookings/"+b.ID.String()+"?wait=60s", ""))
				}()
				synctest.Wait()
				r.publish(c.lost(b))
				if c.then != nil {
					r.publish(c.then(b))
				}
				if got := <-woken; got.Status == Pending || !lost || time.Since(began) > 30*time.Second {
					t.Errorf("who waited sees %s after %s", got.Status, time.Since(began))
				}
				time.Sleep(10 * time.Second)
				if s := r.door.Stats(); s.Active != 0 || r.counts.confirmed.Load()+r.counts.cancelled.Load() > 1 {
					t.Errorf("%+v, counted twice?", s)
				}
			})
		})
	}
}

func succeeded(b bookingJSON) messaging.Event { return tickets.PaymentSucceeded{BookingID: b.ID} }

// What another replica has committed, and counted, is not counted here when the
// event comes again before the place is free.
func TestAnOutcomeOfAnotherReplicaIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		b := r.book("1")
		other := restart(t, testConfig(), r)
		if err := other.settle(t.Context(), row.Outcome{ID: b.ID, Status: Confirmed}); err != nil {
			t.Fatal(err)
		}
		r.publish(succeeded(b))
		synctest.Wait()
		if here, there := r.counts.confirmed.Load(), other.counts.confirmed.Load(); here != 0 || there != 1 {
			t.Errorf("counted %d times here, %d times there", here, there)
		}
		if s := r.door.Stats(); s.Active != 0 {
			t.Errorf("%+v", s)
		}
	})
}
