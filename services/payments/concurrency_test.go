package payments

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// together hands all events over at once, to the replicas in turn, and returns
// the one event that came of each.
func together(t *testing.T, replicas []replica, events []tickets.SeatReserved) []messaging.Event {
	t.Helper()
	start := make(chan struct{})
	got := make([]messaging.Event, len(events))
	var wg sync.WaitGroup
	for i, e := range events {
		wg.Go(func() {
			<-start
			out, err := replicas[i%len(replicas)].seatReserved(context.WithoutCancel(t.Context()), e)
			if err != nil || len(out) != 1 {
				t.Errorf("%+v: %v, %v", e, out, err)
				return
			}
			got[i] = out[0]
		})
	}
	close(start)
	wg.Wait()
	return got
}

// Two replicas whose card limits differ get the same events at once: for each
// booking they say the same, for ever, and the bank charged accordingly.
func TestReplicasNeverDisagree(t *testing.T) {
	stingy := plain()
	stingy.Limit = tickets.MustAmount("1")
	onBoth(t, func(t *testing.T, url string) {
		replicas := []replica{newReplica(t, url, plain()), newReplica(t, url, stingy)}
		rapid.Check(t, func(rt *rapid.T) {
			bookings := make([]uuid.UUID, rapid.IntRange(1, 8).Draw(rt, "bookings"))
			for i := range bookings {
				bookings[i] = newID()
			}
			amounts := []tickets.Amount{tickets.MustAmount("0.5"), affordable, tooMuch}
			events := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) tickets.SeatReserved {
				return seatReserved(rapid.SampledFrom(bookings).Draw(rt, "booking"), rapid.SampledFrom(amounts).Draw(rt, "amount"))
			}), 1, 40).Draw(rt, "events")
			said := make(map[uuid.UUID]messaging.Event)
			for i, e := range slices.Concat(together(t, replicas, events), together(t, replicas, events)) {
				id := events[i%len(events)].BookingID
				if said[id] == nil {
					said[id] = e
				}
				if e != said[id] {
					rt.Fatalf("booking %s: %+v, and %+v", id, said[id], e)
				}
			}
			for id, e := range said {
				v, err := replicas[0].store.get(t.Context(), id)
				if err != nil || v.outcome() != e || (v.charges == 1) != (v.Status == Succeeded) {
					rt.Fatalf("said %+v, but the row is %+v (%v)", e, v, err)
				}
			}
		})
	})
}

func TestPoisonedRowDoesNotFailItsNeighbours(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url, plain())
		entries := []Entry{{newID(), affordable, Charged}, {newID(), tickets.Amount{}, Charged}}
		if _, err := r.bank.ledger.enterAll(t.Context(), entries); err == nil {
			t.Error("a batch with a charge of 0 succeeded")
		}
		if e := r.entry(t, entries[0].BookingID); e != nil {
			t.Errorf("the failed batch left %+v", e)
		}
		errs := make([]error, 20)
		var wg sync.WaitGroup
		for i := range errs {
			amount := affordable
			if i == 0 {
				amount = tickets.Amount{}
			}
			wg.Go(func() { _, errs[i] = r.seatReserved(context.WithoutCancel(t.Context()), seatReserved(newID(), amount)) })
		}
		wg.Wait()
		if errs[0] == nil || messaging.IsUnavailable(errs[0]) {
			t.Errorf("the poisoned one: %v, want an error of its own", errs[0])
		}
		for _, err := range errs[1:] {
			if err != nil {
				t.Errorf("a neighbour: %v", err)
			}
		}
	})
}
