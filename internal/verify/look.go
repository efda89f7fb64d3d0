package verify

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// pause is what is between two looks: a moment in which a booking gets on.
const pause = 250 * time.Millisecond

// Look takes snapshots until what is wrong in them lasts, and returns that and
// the last one. Where sagas run, each look catches some booking on its way: one
// that was not finished when it was found has until limit to get there. What
// begins after the first look is left to those who look next.
func Look(
	ctx context.Context, take func(context.Context) (Snapshot, error), limit time.Duration, accepted ...uuid.UUID,
) (s Snapshot, found []Violation, err error) {
	end := time.Now().Add(limit)
	if s, err = take(ctx); err != nil {
		return s, nil, err
	}
	found = Check(s, accepted...)
	for again := false; len(found) > 0 && (!again || underWay(s, found) && time.Now().Before(end)); again = true {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return s, found, context.Cause(ctx)
		}
		if s, err = take(ctx); err != nil {
			return s, found, err
		}
		found = lasting(found, Check(s, accepted...))
	}
	return s, found, nil
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

// lasting is the violations that both looks found, as the second has them.
func lasting(first, second []Violation) []Violation {
	before := make(map[fault]bool, len(first))
	for _, v := range first {
		before[v.fault()] = true
	}
	var both []Violation
	for _, v := range second {
		if before[v.fault()] {
			both = append(both, v)
		}
	}
	return both
}

// fault is what is wrong with whom, whatever the figures are meanwhile.
type fault struct {
	invariant int
	booking   uuid.UUID
	kind      string
}

func (v Violation) fault() fault { return fault{v.Invariant, v.BookingID, v.kind} }
