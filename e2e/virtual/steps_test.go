package virtual

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/verify"
	"boxoffice/services/booking"
	"boxoffice/tickets"
)

// TestEveryFaultAtEveryStep meets each publish of each service with each fault
// in turn, the process dying between commit and publish and between publish
// and acknowledgement among them: the four bookings end as they always do.
func TestEveryFaultAtEveryStep(t *testing.T) {
	for _, service := range []string{tickets.Booking, tickets.Seats, tickets.Payments} {
		for nth := range 4 {
			for what := duplicate; what < numberOfFaults; what++ {
				t.Run(fmt.Sprintf("%s, publish %d, %s", service, nth+1, what), func(t *testing.T) {
					plan := append(make([]fault, nth), what)
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) { theFour(t, dir, map[string][]fault{service: plan}) })
				})
			}
		}
	}
}

func theFour(t *testing.T, dir string, faults map[string][]fault) {
	w := newWorld(dir, os.Stderr, booking.Limits{Active: 4, Waiting: 4, Overdue: 4}, hall, faults)
	defer w.stop()
	synctest.Wait()
	var ids []uuid.UUID
	for _, b := range []struct {
		seat  int
		price string
		want  string
	}{{1, "450", "Confirmed"}, {1, "450", "Rejected"}, {3, "1500", "Cancelled"}, {3, "600", "Confirmed"}} {
		id := w.bookUntilAccepted(b.seat, b.price)
		ids = append(ids, id)
		if got := w.outcome(id); got.Status != b.want {
			t.Errorf("seat %d for %s: %s, want %s", b.seat, b.price, got.Status, b.want)
		}
	}
	if found := w.quiet(ids); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if n := w.parked(); n > 0 {
		t.Errorf("%d messages were parked", n)
	}
}

// bookUntilAccepted books as a client does that tries again while the service
// is away.
func (w *world) bookUntilAccepted(seat int, price string) uuid.UUID {
	for {
		if id, ok := w.book(seat, price, ""); ok {
			return id
		}
		time.Sleep(time.Second) // virtual
	}
}

// outcome waits for the end of a booking, for an hour at most.
func (w *world) outcome(id uuid.UUID) (b verify.Booking) {
	for range 3600 {
		time.Sleep(time.Second) // virtual
		s, _ := verify.Take(context.Background(), w.client(), targets())
		i := slices.IndexFunc(s.Bookings, func(b verify.Booking) bool { return b.ID == id })
		if i >= 0 && s.Bookings[i].Status != "Pending" && (s.Bookings[i].Status != "Cancelled" || s.Bookings[i].SeatReleased) {
			return s.Bookings[i]
		}
	}
	return b
}
