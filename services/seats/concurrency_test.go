package seats

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// together hands all events over at once, to the replicas in turn, and returns
// the one event that came of each, or nil.
func together(t *testing.T, replicas []replica, events []messaging.Event) []messaging.Event {
	t.Helper()
	start := make(chan struct{})
	got := make([]messaging.Event, len(events))
	var wg sync.WaitGroup
	for i, e := range events {
		wg.Go(func() {
			<-start
			out, err := replicas[i%len(replicas)].handle(context.WithoutCancel(t.Context()), e)
			if err != nil {
				t.Errorf("%T: %v", e, err)
			}
			if len(out) == 1 {
				got[i] = out[0]
			}
		})
	}
	close(start)
	wg.Wait()
	return got
}

func TestFiftyBookingsForOneSeat(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		var events []messaging.Event
		for range 50 {
			e := created(newID(), 5)
			events = append(events, e, e) // each twice: one for each replica
		}
		holders := make(map[uuid.UUID]bool)
		for i, e := range together(t, replicas, events) {
			id := events[i].(tickets.BookingCreated).BookingID
			switch e {
			case reserved(id, 5):
				holders[id] = true
			case rejected(id, 5):
			default:
				t.Errorf("got %+v", e)
			}
		}
		if len(holders) != 1 {
			t.Errorf("%d bookings hold the seat", len(holders))
		}
		for id := range holders {
			replicas[0].expect(t, created(id, 5), reserved(id, 5))
		}
	})
}

func TestDuplicatesAtOnceNeverRejectTheirOwnReservation(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		for seat := 1; seat <= total; seat++ {
			id := newID()
			events := slices.Repeat([]messaging.Event{created(id, seat)}, 8)
			for _, e := range together(t, replicas, events) {
				if e != reserved(id, seat) {
					t.Fatalf("seat %d: got %+v", seat, e)
				}
			}
		}
	})
}

// A booking and its failed payment at the same moment: whichever comes first,
// the seat ends up free, and the outcome of the release is the only last word.
func TestReservationAndReleaseAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		for range 10 {
			var events []messaging.Event
			for seat := 1; seat <= total; seat++ {
				id := newID()
				events = append(events, created(id, seat), failed(id, seat), failed(id, seat), created(id, seat))
			}
			for i, e := range together(t, replicas, events) {
				if f, ok := events[i].(tickets.PaymentFailed); ok && e != released(f.BookingID, f.Seat) {
					t.Errorf("PaymentFailed: got %+v", e)
				}
			}
			free, held, err := replicas[0].store.hall(t.Context(), 0, total)
			if err != nil || free != total || len(held) != 0 {
				t.Fatalf("%d free, held %v (%v)", free, held, err)
			}
		}
	})
}

// Two replicas get the same batches, in opposite order. That they write in one
// order all the same keeps them from waiting for each other in a circle.
func TestOppositeBatchesDoNotDeadlock(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		a, b := newReplica(t, url).store, newReplica(t, url).store
		for range 30 {
			var claims, tombstones []Reservation
			for seat := 1; seat <= total; seat++ {
				one, other := newID(), newID()
				claims = append(claims, claim(created(one, seat)), claim(created(other, seat)))
				tombstones = append(tombstones, tombstone(failed(one, seat)), tombstone(failed(other, seat)))
			}
			opposite(t, claims, a.reserveAll, b.reserveAll)
			opposite(t, tombstones, a.releaseAll, b.releaseAll)
		}
	})
}

// Events that disagree about their bookings' seats put two replicas' batches
// into different orders: PostgreSQL ends one of them, and nobody sees that.
func TestAStrangersSeatsDeadlockNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url), newReplica(t, url)}
		for range 20 {
			var events []messaging.Event
			for range 30 {
				a, b := newID(), newID()
				events = append(events, failed(a, 1), failed(a, 2), failed(b, 2), failed(b, 1)) // to the replicas in turn
			}
			together(t, replicas, events)
		}
	})
}

// opposite runs one batch at once in both directions.
func opposite(t *testing.T, batch []Reservation, forth, back func(context.Context, []Reservation) ([]Reservation, error)) {
	t.Helper()
	reversed := slices.Clone(batch)
	slices.Reverse(reversed)
	start := make(chan struct{})
	var wg sync.WaitGroup
	run := func(commit func(context.Context, []Reservation) ([]Reservation, error), batch []Reservation) {
		wg.Go(func() {
			<-start
			if rows, err := commit(context.WithoutCancel(t.Context()), batch); err != nil || len(rows) != len(batch) {
				t.Errorf("%d rows for %d: %v", len(rows), len(batch), err)
			}
		})
	}
	run(forth, batch)
	run(back, reversed)
	close(start)
	wg.Wait()
}

func TestPoisonedRowDoesNotFailItsNeighbours(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		errs := make([]error, total+1)
		var wg sync.WaitGroup
		for seat := range total + 1 { // there is no seat 0, not even to be rejected
			wg.Go(func() {
				_, errs[seat] = r.handle(context.WithoutCancel(t.Context()), created(newID(), seat))
			})
		}
		wg.Wait()
		if errs[0] == nil || messaging.IsUnavailable(errs[0]) || messaging.IsPermanent(errs[0]) {
			t.Errorf("the poisoned one: %v, want an error of its own", errs[0])
		}
		if err := fmt.Sprint(errs[1:]); err != fmt.Sprint(make([]error, total)) {
			t.Errorf("its neighbours: %v", err)
		}
		// In one batch for certain: the batch fails whole, and leaves nothing.
		claims := []Reservation{claim(created(newID(), 99)), claim(created(newID(), 0))}
		if _, err := r.store.reserveAll(t.Context(), claims); err == nil {
			t.Error("a batch with a poisoned row succeeded")
		}
		if _, err := r.store.get(t.Context(), claims[0].BookingID); err == nil {
			t.Error("a failed statement left a row")
		}
	})
}
