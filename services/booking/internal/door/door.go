// Package door bounds the bookings that were answered 202 until their outcome
// is in, each in one of three budgets. It does no I/O. It guarantees:
//
//   - No budget ever holds more than its limit, except for what an earlier run
//     had admitted.
//   - A booking is started once its row is written and it has an active place:
//     whatever frees a place hands over what takes it, by itself.
//   - Bookings that waited are started in the order in which they were accepted.
package door

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
)

// Limits are the budgets of the door, each a number of bookings.
type Limits struct {
	Active  int // started, outcome not in
	Waiting int // accepted, not started
	Overdue int // started longer ago than the saga deadline
}

// Door holds the bookings. It is closed at first: what an earlier run left
// behind takes its places before new ones do. See Restore.
type Door struct {
	limits Limits
	start  func(row.Order)

	mu        sync.Mutex
	restored  bool
	draining  bool
	active    map[uuid.UUID]*slot
	overdue   map[uuid.UUID]*slot
	doubts    map[uuid.UUID]*slot // of those that have a place: nobody knows yet whether their rows are written
	aside     int                 // places for bookings that are being taken over
	waiting   []*slot             // in the order they were accepted
	maxActive int
	pace      pace
	counts    counts

	lastFinish time.Time
	fullSince  time.Time // when the active places were taken up the last time
	promised   time.Time // until when room was promised to those that were refused
}

// slot is the place that one booking takes.
type slot struct {
	row.Order
	since     time.Time // when it started, by this process's own clock, which nobody sets
	committed bool      // its row is written
}

// New makes a closed door. It calls start with each booking that is to be
// started, in order, while it is locked: start only takes note, does not block,
// and never calls the door.
func New(l Limits, start func(row.Order)) *Door {
	return &Door{
		limits: l, start: start,
		active: make(map[uuid.UUID]*slot), overdue: make(map[uuid.UUID]*slot), doubts: make(map[uuid.UUID]*slot),
	}
}

// Refusal is why the door does not take a booking.
type Refusal int

// What Reserve may say.
const (
	Admitted Refusal = iota
	Full             // the budgets are used up
	Draining         // the service takes no more
	Starting         // it takes none yet
)

// Reserve takes a place for o, gives it an id that is later than all before it,
// and says so by Admitted. It is Started if it starts as soon as its row is
// written. A place that is reserved must be given to Commit, GiveBack or Doubt.
func (d *Door) Reserve(o row.Order) (row.Order, Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.draining:
		return o, Draining
	case !d.restored:
		return o, Starting
	}
	o.Started = len(d.waiting) == 0 && len(d.active) < d.limits.Active
	if !o.Started && len(d.waiting)+d.aside >= d.limits.Waiting {
		return o, Full
	}
	began := time.Now()
	now := began.Truncate(time.Microsecond) // as the row keeps it
	o.ID = uuid.Must(uuid.NewV7())          // fails only without a source of randomness
	o.CreatedAt, o.UpdatedAt = now, now
	s := &slot{Order: o}
	if o.Started {
		s.since = began
		d.activate(s)
	} else {
		d.waiting = append(d.waiting, s)
	}
	return o, Admitted
}

func (d *Door) activate(s *slot) {
	d.active[s.ID] = s
	d.maxActive = max(d.maxActive, len(d.active))
	if len(d.active) == d.limits.Active {
		d.fullSince = time.Now()
	}
}

// Commit says that the row of id is written.
func (d *Door) Commit(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.accepted++
	delete(d.doubts, id)
	if s := d.active[id]; s != nil {
		s.committed = true
		d.start(s.Order)
	} else if s := d.waits(id); s != nil {
		s.committed = true
	}
	d.promote()
}

// GiveBack frees the place of a booking whose row was not written.
func (d *Door) GiveBack(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.active, id)
	delete(d.overdue, id)
	delete(d.doubts, id)
	d.waiting = slices.DeleteFunc(d.waiting, func(s *slot) bool { return s.ID == id })
	d.promote()
}

// Finish frees the places of bookings whose outcome is in. Ids that hold no
// place here are ignored.
func (d *Door) Finish(ids ...uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	full := len(d.active) >= d.limits.Active
	for _, id := range ids {
		if d.running(id) != nil {
			d.finishRunning(id, full)
			continue
		}
		d.waiting = slices.DeleteFunc(d.waiting, func(s *slot) bool { return s.ID == id && s.Again })
	}
	d.promote()
}

// finishRunning frees the place of a booking that has started. full says that
// all active places were taken.
func (d *Door) finishRunning(id uuid.UUID, full bool) {
	now := time.Now()
	if s := d.running(id); full && s != nil {
		d.pace.add(min(now.Sub(d.lastFinish), now.Sub(d.fullSince)), now.Sub(s.since))
	}
	delete(d.active, id)
	delete(d.overdue, id)
	delete(d.doubts, id)
	d.lastFinish = now
}

// Expire moves the active bookings that started before the deadline to the
// overdue budget, oldest first, as far as there is room.
func (d *Door) Expire(startedBefore time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var late []*slot
	for _, s := range d.active {
		if s.committed && s.since.Before(startedBefore) {
			late = append(late, s)
		}
	}
	slices.SortFunc(late, func(a, b *slot) int { return a.since.Compare(b.since) })
	for _, s := range late {
		if len(d.overdue) >= d.limits.Overdue {
			break
		}
		delete(d.active, s.ID)
		d.overdue[s.ID] = s
	}
	d.promote()
}

// promote moves waiting bookings to free active slots, in order, and starts
// them. A booking whose row is still being written holds up those behind it.
func (d *Door) promote() {
	for len(d.waiting) > 0 && d.waiting[0].committed && len(d.active) < d.limits.Active {
		s := d.waiting[0]
		d.waiting[0] = nil
		d.waiting = d.waiting[1:]
		s.since = time.Now()
		d.activate(s)
		d.start(s.Order)
	}
}

// Drain closes or opens the door.
func (d *Door) Drain(closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining = closed
}

// waits returns the place of a booking that has not started, or nil.
func (d *Door) waits(id uuid.UUID) *slot {
	for _, s := range d.waiting {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// running returns the place of a booking that has started, or nil.
func (d *Door) running(id uuid.UUID) *slot {
	if s, ok := d.active[id]; ok {
		return s
	}
	return d.overdue[id]
}
