package virtual

import (
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking"
)

// A class loses the channel of payments one after the other, and each loss
// counts for all that share it. The first booking is in flight all the time,
// and comes back far more often than the broker's limit: it is not parked.
func TestTheFaultsOfManyParkNobody(t *testing.T) {
	for _, script := range []string{
		"payments.SeatReserved=drop*10", "payments.SeatReserved=drop-after-publish*10", "payments.SeatReserved=exit*10",
	} {
		t.Run(script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t.TempDir(), os.Stderr, booking.Limits{Active: 64, Waiting: 4, Overdue: 64}, 100, nil)
				defer w.stop()
				synctest.Wait()
				var accepted []uuid.UUID
				for seat := range 6 {
					fault := script
					if seat == 0 {
						fault = "payments.SeatReserved=delay:30s"
					}
					status, id := w.post(seat+1, "450", fault)
					if status != http.StatusAccepted {
						t.Fatalf("seat %d: %d", seat+1, status)
					}
					accepted = append(accepted, id)
					time.Sleep(time.Second) // virtual
				}
				if found := w.quiet(accepted); len(found) > 0 {
					t.Errorf("not well afterwards: %v", found)
				}
				if n := w.parked(); n > 0 {
					t.Errorf("%d messages were parked", n)
				}
			})
		})
	}
}
