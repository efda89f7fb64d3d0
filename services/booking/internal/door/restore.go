package door

import (
	"cmp"
	"slices"
	"time"

	"boxoffice/services/booking/internal/row"
)

// Restore opens the door: it fills the budgets with the unfinished bookings,
// in the order of acceptance, that this instance had admitted before it was
// restarted, and starts what the active and the overdue budget take, and those
// whose seat alone is to be released, which take no place. What was admitted
// once keeps its place, even if the limits are smaller now.
func (d *Door) Restore(unfinished []row.Order, deadline time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restored = true
	now := time.Now()
	for _, o := range inTurn(unfinished) {
		o.Again = o.Started
		s := &slot{Order: o, committed: true, since: now.Add(-o.Age)}
		switch {
		case o.Status != row.Pending:
			o.Again = true
			d.start(o)
		case o.Started && o.Age > deadline && len(d.overdue) < d.limits.Overdue:
			d.overdue[o.ID] = s
			d.start(o)
		case len(d.active) < d.limits.Active && len(d.waiting) == 0:
			d.activate(s)
			d.start(o)
		default:
			d.waiting = append(d.waiting, s)
		}
	}
}

// inTurn is the order in which bookings are restored: what has started is in
// the queues already, and keeps running first.
func inTurn(orders []row.Order) []row.Order {
	turn := func(o row.Order) int {
		switch {
		case o.Status != row.Pending:
			return 2
		case !o.Started:
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(orders), func(a, b row.Order) int { return cmp.Compare(turn(a), turn(b)) })
}

// SetAside keeps up to most places free in which bookings may wait, for Adopt,
// which must be called, and returns how many.
func (d *Door) SetAside(most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return 0
	}
	d.aside = max(0, min(most, d.limits.Waiting-len(d.waiting)))
	return d.aside
}

// Adopt gives a place to bookings that waited at a replica which is gone.
func (d *Door) Adopt(orders []row.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aside = 0
	for _, o := range orders {
		if d.running(o.ID) == nil && d.waits(o.ID) == nil {
			d.waiting = append(d.waiting, &slot{Order: o, committed: true})
		}
	}
	slices.SortStableFunc(d.waiting, func(a, b *slot) int { return slices.Compare(a.ID[:], b.ID[:]) })
	d.promote()
}
