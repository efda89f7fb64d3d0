package booking

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/tickets"
)

// A booking's outcome is committed, and the answer is lost; what comes next
// finds that the row says so already. It is counted once all the same, whether
// its place was freed meanwhile or not, and who waits for it is woken.
func TestAnOutcomeWhoseAnswerWasLostIsCounted(t *testing.T) {
	for name, outage := range map[string]time.Duration{"at once": 0, "after its place was freed": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig())
				f := makeFlaky(t, r)
				r.run()
				b := r.book("1")
				var lost time.Time
				isSettle := func(q string) bool { return strings.Contains(q, "UPDATE bookings SET status") }
				f.set(func(q string) error {
					if isSettle(q) && !lost.IsZero() && time.Since(lost) < outage {
						return errDied
					}
					return nil
				}, func(q string) error {
					if isSettle(q) && lost.IsZero() {
						lost = time.Now()
						return errDied
					}
					return nil
				})
				woken := make(chan Status, 1)
				go func() {
					woken <- decode[bookingJSON](t, r.do("GET", "/bookings/"+b.ID.String()+"?wait=60s", "")).Status
				}()
				synctest.Wait()
				r.publish(tickets.PaymentSucceeded{BookingID: b.ID})
				if s := <-woken; s != Confirmed || lost.IsZero() {
					t.Errorf("who waited sees %s", s)
				}
				time.Sleep(20 * time.Second)
				r.publish(tickets.PaymentSucceeded{BookingID: b.ID}) // a duplicate
				synctest.Wait()
				if got := r.counts.confirmed.Load(); got != 1 {
					t.Errorf("status %s, but /stats says confirmed %d", r.get(b.ID).Status, got)
				}
			})
		})
	}
}

// What another replica has committed, and counted, is not counted here when the
// event comes again before the place is free.
func TestAnOutcomeOfAnotherReplicaIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		b := r.book("1")
		other := restart(t, testConfig(), r)
		if err := other.settle(t.Context(), outcome{id: b.ID, status: Confirmed}); err != nil {
			t.Fatal(err)
		}
		r.publish(tickets.PaymentSucceeded{BookingID: b.ID})
		synctest.Wait()
		if here, there := r.counts.confirmed.Load(), other.counts.confirmed.Load(); here != 0 || there != 1 {
			t.Errorf("counted %d times here, %d times there", here, there)
		}
		if s := r.door.stats(); s.Active != 0 {
			t.Errorf("%+v", s)
		}
	})
}
