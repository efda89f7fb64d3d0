package virtual

import (
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/verify"
	"boxoffice/services/booking"
	"boxoffice/tickets"
)

// With payments away for ten minutes the budgets fill, the door says that it
// is stopped, nothing is published beyond the budgets, and all of it finishes
// when payments is back.
func TestTheDoorBoundsWhatIsBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t.TempDir(), os.Stderr, booking.Limits{Active: 3, Waiting: 4, Overdue: 2}, 100, nil)
		defer w.stop()
		synctest.Wait()
		w.procs[tickets.Payments].down()
		var accepted []uuid.UUID
		answers := map[int]int{}
		for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(time.Second) {
			status, id := w.post(len(accepted)+1, "450", "")
			answers[status]++
			if status == http.StatusAccepted {
				accepted = append(accepted, id)
			}
			if s := w.stats(); s.Active > 3 || s.Waiting > 4 || s.Overdue > 2 {
				t.Fatalf("a budget is exceeded: %+v", s)
			}
		}
		if len(accepted) != 9 || answers[http.StatusServiceUnavailable] < 500 || answers[http.StatusTooManyRequests] == 0 {
			t.Errorf("answers: %v", answers)
		}
		if s := w.stats(); s.Active != 3 || s.Waiting != 4 || s.Overdue != 2 || s.Redriven == 0 {
			t.Errorf("%+v", s)
		}
		taken, err := verify.Take(t.Context(), w.client(), targets())
		if err == nil || len(taken.Reservations) != 5 {
			t.Errorf("%d bookings are behind the door, %v", len(taken.Reservations), err)
		}
		w.procs[tickets.Payments].start()
		if found := w.quiet(accepted); len(found) > 0 {
			t.Errorf("not well afterwards: %v", found)
		}
		if n := w.parked(); n > 0 {
			t.Errorf("%d messages were parked", n)
		}
	})
}
