package seats

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// model is what the table of the saga says about seats, one event at a time.
type model map[uuid.UUID]Reservation

func (m model) holder(seat int) bool {
	for _, r := range m {
		if r.Seat == seat && r.Status == Reserved {
			return true
		}
	}
	return false
}

func (m model) apply(e messaging.Event) messaging.Event {
	switch e := e.(type) {
	case tickets.BookingCreated:
		r, ok := m[e.BookingID]
		if !ok {
			r = claim(e)
			if e.Seat > total || m.holder(e.Seat) {
				r = r.rejected()
			}
			m[e.BookingID] = r
		}
		return r.outcome()
	case tickets.PaymentFailed:
		r, ok := m[e.BookingID]
		if !ok {
			r = tombstone(e)
		}
		if r.Status == Rejected {
			return nil
		}
		if r.Status == Reserved {
			r.Status, r.Reason = Released, e.Reason
		}
		m[e.BookingID] = r
		return r.outcome()
	}
	panic("not an event of seats")
}

// history draws events about few bookings and few seats, so that they collide:
// duplicates, both orders, events that name another seat.
func history(rt *rapid.T, bookings []uuid.UUID) []messaging.Event {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) messaging.Event {
		id := rapid.SampledFrom(bookings).Draw(rt, "booking")
		seat := rapid.SampledFrom([]int{1, 2, total + 1}).Draw(rt, "seat")
		if rapid.Bool().Draw(rt, "created") {
			return created(id, seat)
		}
		e := failed(id, seat)
		e.Reason = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "reason")
		return e
	}), 1, 30).Draw(rt, "events")
}

// One at a time, the store is the model.
func TestStoreFollowsTheModel(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		rapid.Check(t, func(rt *rapid.T) {
			empty(t, replicas[0])
			bookings := []uuid.UUID{newID(), newID(), newID(), newID()}
			m := make(model)
			for i, e := range history(rt, bookings) {
				want := m.apply(e)
				got := replicas[rapid.IntRange(0, 1).Draw(rt, "replica")].hand(t, e)
				if got != want {
					rt.Fatalf("event %d, %T %+v: got %T %+v, want %T %+v", i, e, e, got, got, want, want)
				}
			}
		})
	})
}

// All at once, over two replicas, the rules still hold whatever the order was.
func TestRulesHoldWhateverTheOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		rapid.Check(t, func(rt *rapid.T) {
			empty(t, replicas[0])
			bookings := []uuid.UUID{newID(), newID(), newID(), newID()}
			events := history(rt, bookings)
			outcomes := together(t, replicas, events)
			failures := make(map[uuid.UUID]bool)
			for i, e := range events {
				if f, ok := e.(tickets.PaymentFailed); ok {
					failures[f.BookingID] = true
					if _, ok := outcomes[i].(tickets.SeatReleased); !ok && outcomes[i] != nil {
						rt.Fatalf("PaymentFailed: %T", outcomes[i])
					}
				}
			}
			held := make(map[int]bool)
			for _, id := range bookings {
				row, err := replicas[0].store.get(t.Context(), id)
				if err != nil {
					continue // no event was about it
				}
				if row.Status == Reserved {
					if held[row.Seat] || failures[id] || row.Seat > total {
						rt.Fatalf("%+v: held twice, after its payment failed, or not in the hall", row)
					}
					held[row.Seat] = true
				}
				if got := replicas[1].hand(t, created(id, row.Seat)); got != row.outcome() {
					rt.Fatalf("a late duplicate of %+v: %T %+v", row, got, got)
				}
			}
		})
	})
}

func empty(t *testing.T, r replica) {
	t.Helper()
	if _, err := r.store.db.ExecContext(t.Context(), `DELETE FROM reservations`); err != nil {
		t.Fatal(fmt.Errorf("empty the table: %w", err))
	}
}
