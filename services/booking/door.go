package booking

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Limits are the budgets of the door, each a number of bookings.
type Limits struct {
	Active  int // started, outcome not in
	Waiting int // accepted, not started
	Overdue int // started longer ago than the saga deadline
}

// door holds the bookings that were answered 202 until their outcome is in,
// each in one of three budgets. It does no I/O and starts nothing: whoever
// frees a slot gets the bookings that are to be started in return. It is closed
// at first: what an earlier run left behind takes its places before new ones do.
type door struct {
	limits Limits
	now    func() time.Time

	mu        sync.Mutex
	restored  bool // by recover: nothing is admitted before
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
	order
	since     time.Time // when it started, by this process's own clock, which nobody sets
	committed bool      // its row is written
}

// order is a booking and the trace context that its first event carries.
type order struct {
	Booking
	carrier carrier
	key     string    // its Idempotency-Key, or ""
	started time.Time // zero: it waits
	noted   bool      // its row is written with its start
	again   bool      // it has been started before: without its fault script now
}

type counts struct{ accepted, throttled, unavailable int64 }

func newDoor(l Limits) *door {
	return &door{
		limits: l, now: time.Now,
		active: make(map[uuid.UUID]*slot), overdue: make(map[uuid.UUID]*slot), doubts: make(map[uuid.UUID]*slot),
	}
}

// refusal is why the door does not take a booking.
type refusal int

const (
	admitted refusal = iota
	full             // the budgets are used up
	draining         // the service takes no more
	starting         // it takes none yet
)

// reserve takes a place for b, with an id that is later than all before it,
// and says so by admitted. Its started is set if it may start once its row is
// written. A place that is reserved must be given to commit or giveBack.
func (d *door) reserve(o order) (order, refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.draining:
		return o, draining
	case !d.restored:
		return o, starting
	}
	startsNow := len(d.waiting) == 0 && len(d.active) < d.limits.Active
	if !startsNow && len(d.waiting)+d.aside >= d.limits.Waiting {
		return o, full
	}
	began := d.now()
	now := began.Truncate(time.Microsecond) // as the row keeps it
	o.ID = uuid.Must(uuid.NewV7())          // fails only without a source of randomness
	o.CreatedAt, o.UpdatedAt = now, now
	s := &slot{order: o}
	if startsNow {
		s.started, s.since, s.noted = now, began, true
		d.activate(s)
	} else {
		d.waiting = append(d.waiting, s)
	}
	return s.order, admitted
}

func (d *door) activate(s *slot) {
	d.active[s.ID] = s
	d.maxActive = max(d.maxActive, len(d.active))
	if len(d.active) == d.limits.Active {
		d.fullSince = d.now()
	}
}

// commit says that the row of id is written, and returns what is to be started.
func (d *door) commit(id uuid.UUID) []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.accepted++
	delete(d.doubts, id)
	var start []order
	if s := d.find(id); s != nil {
		s.committed = true
		if !s.started.IsZero() {
			start = append(start, s.order)
		}
	}
	return append(start, d.promote()...)
}

// giveBack frees the place of a booking whose row was not written.
func (d *door) giveBack(id uuid.UUID) []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.active, id)
	delete(d.doubts, id)
	d.waiting = slices.DeleteFunc(d.waiting, func(s *slot) bool { return s.ID == id })
	return d.promote()
}

// doubt keeps the place of a booking whose row may be written or not, until
// commit or giveBack says which.
func (d *door) doubt(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.find(id); s != nil {
		d.doubts[id] = s
	}
}

// doubtsKey reports whether a booking with this key is among the doubtful ones.
func (d *door) doubtsKey(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.doubts {
		if s.key == key {
			return true
		}
	}
	return false
}

// doubtful returns the bookings of which nobody knows whether their rows are written.
func (d *door) doubtful() []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	orders := make([]order, 0, len(d.doubts))
	for _, s := range d.doubts {
		orders = append(orders, s.order)
	}
	return orders
}

func (d *door) find(id uuid.UUID) *slot {
	if s, ok := d.active[id]; ok {
		return s
	}
	for _, s := range d.waiting {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// finish frees the places of bookings whose outcome is in, and returns what is
// to be started instead. Ids that hold no place here are ignored.
func (d *door) finish(ids ...uuid.UUID) []order {
	d.mu.Lock()
	defer d.mu.Unlock()
	full := len(d.active) >= d.limits.Active
	for _, id := range ids {
		if d.running(id) != nil {
			d.finishRunning(id, full)
			continue
		}
		d.waiting = slices.DeleteFunc(d.waiting, func(s *slot) bool { return s.ID == id && s.again })
	}
	return d.promote()
}

// finishRunning frees the place of a booking that has started. full says that
// all active places were taken.
func (d *door) finishRunning(id uuid.UUID, full bool) {
	now := d.now()
	if full {
		d.pace.add(min(now.Sub(d.lastFinish), now.Sub(d.fullSince)))
	}
	delete(d.active, id)
	delete(d.overdue, id)
	delete(d.doubts, id)
	d.lastFinish = now
}

// holds reports whether a booking that has started has a place here.
func (d *door) holds(id uuid.UUID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running(id) != nil
}

// running returns the place of a booking that has started, or nil.
func (d *door) running(id uuid.UUID) *slot {
	if s, ok := d.active[id]; ok {
		return s
	}
	return d.overdue[id]
}

// expire moves the active bookings that started before the deadline to the
// overdue budget, oldest first, as far as there is room.
func (d *door) expire(startedBefore time.Time) []order {
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
	return d.promote()
}

// promote moves waiting bookings to free active slots, in order. A booking
// whose row is still being written holds up those behind it.
func (d *door) promote() []order {
	var start []order
	for len(d.waiting) > 0 && d.waiting[0].committed && len(d.active) < d.limits.Active {
		s := d.waiting[0]
		d.waiting[0] = nil
		d.waiting = d.waiting[1:]
		s.since = d.now()
		s.started = s.since
		d.activate(s)
		start = append(start, s.order)
	}
	return start
}

// held is every booking that has started here and whose outcome is not known.
func (d *door) held() []uuid.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(d.active)+len(d.overdue))
	for id, s := range d.active {
		if s.committed {
			ids = append(ids, id)
		}
	}
	for id := range d.overdue {
		ids = append(ids, id)
	}
	return ids
}

// setAside keeps up to most places free in which bookings may wait, for adopt,
// which must be called, and returns how many.
func (d *door) setAside(most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return 0
	}
	d.aside = max(0, min(most, d.limits.Waiting-len(d.waiting)))
	return d.aside
}

// drain closes or opens the door.
func (d *door) drain(closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining = closed
}
