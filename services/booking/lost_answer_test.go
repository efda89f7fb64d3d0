package booking

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
)

// the CAS commits, its answer is lost; the retry finds "repeats": nobody is counted or woken.
func TestSettleAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		f := makeFlaky(t, r)
		r.run()
		b := r.book("1")
		n := 0
		f.set(nil, func(q string) error {
			if strings.Contains(q, "UPDATE bookings SET status") && n == 0 {
				n++
				return errDied
			}
			return nil
		})
		r.publish(messaging.PaymentSucceeded{BookingID: b.ID})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := r.counts.confirmed.Load(); got != 1 {
			t.Errorf("status %s, but /stats says confirmed %d", r.get(b.ID).Status, got)
		}
	})
}
