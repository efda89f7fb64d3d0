package verify

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// pause is what is between two looks: a moment in which a booking gets on.
const pause = 250 * time.Millisecond

// mostLooks are taken of a booking that is broken in another way each time.
const mostLooks = 20

// Look takes snapshots until what is wrong in them lasts, and returns that and
// the last one. Where sagas run, each look catches some booking on its way: one
// that was not finished when it was found has until limit to get there, and is
// followed to its end. What begins after the first look is left to those who
// look next.
func Look(
	ctx context.Context, take func(context.Context) (Snapshot, error), limit time.Duration, accepted ...uuid.UUID,
) (s Snapshot, found []Violation, err error) {
	end := time.Now().Add(limit)
	if s, err = take(ctx); err != nil {
		return s, nil, err
	}
	found = Check(s, accepted...)
	followed := make(map[uuid.UUID]bool)
	for _, v := range found {
		followed[v.BookingID] = v.BookingID != uuid.Nil
	}
	for looks, lasting := 1, false; len(found) > 0 && (!lasting && looks < mostLooks || underWay(s, found) && time.Now().Before(end)); looks++ {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return s, found, context.Cause(ctx)
		}
		if s, err = take(ctx); err != nil {
			return s, found, err
		}
		found, lasting = again(found, Check(s, accepted...), followed)
	}
	return s, found, nil
}

// again is what a look has found once more, or of bookings that are followed,
// and whether all of that was so in the look before.
func again(before, now []Violation, followed map[uuid.UUID]bool) (found []Violation, lasting bool) {
	known := make(map[fault]bool, len(before))
	for _, v := range before {
		known[v.fault()] = true
	}
	lasting = true
	for _, v := range now {
		if known[v.fault()] || followed[v.BookingID] {
			found = append(found, v)
			lasting = lasting && known[v.fault()]
		}
	}
	return found, lasting
}

// underWay reports whether a violation is of a booking that is not finished.
func underWay(s Snapshot, found []Violation) bool {
	unfinished := make(map[uuid.UUID]bool)
	for _, b := range s.Bookings {
		if !b.finished() {
			unfinished[b.ID] = true
		}
	}
	for _, v := range found {
		if unfinished[v.BookingID] {
			return true
		}
	}
	return false
}

// fault is what is wrong with whom, whatever the figures are meanwhile.
type fault struct {
	invariant int
	booking   uuid.UUID
	kind      string
}

func (v Violation) fault() fault { return fault{v.Invariant, v.BookingID, v.kind} }
