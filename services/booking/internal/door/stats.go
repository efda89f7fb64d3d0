package door

import (
	"time"

	"github.com/google/uuid"
)

// counts is what was answered since the start.
type counts struct{ accepted, throttled, unavailable int64 }

// Stats is the state of the door.
type Stats struct {
	Accepting                        bool
	Active, Waiting, Overdue         int
	ActiveLimit, WaitingLimit        int
	MaxActive                        int // the most that were active at a time
	Accepted, Throttled, Unavailable int64
}

// Stats returns the state of the door.
func (d *Door) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		Accepting: d.restored && !d.draining,
		Active:    len(d.active), Waiting: len(d.waiting), Overdue: len(d.overdue), MaxActive: d.maxActive,
		ActiveLimit: d.limits.Active, WaitingLimit: d.limits.Waiting,
		Accepted: d.counts.accepted, Throttled: d.counts.throttled, Unavailable: d.counts.unavailable,
	}
}

// Restored reports whether the door was opened. (It may be draining all the same.)
func (d *Door) Restored() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.restored
}

// Throttled counts a client that was told to come back later.
func (d *Door) Throttled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.throttled++
}

// Unavailable counts a client that was told that the service cannot work.
func (d *Door) Unavailable() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.unavailable++
}

// Held is every booking that has started here and whose outcome is not known.
func (d *Door) Held() []uuid.UUID {
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

// IdleFor is how long nothing has finished, counted from the later of the last
// finish and the start of the oldest active booking.
func (d *Door) IdleFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var oldest time.Time
	for _, s := range d.active {
		if oldest.IsZero() || s.since.Before(oldest) {
			oldest = s.since
		}
	}
	from := d.lastFinish
	if oldest.After(from) {
		from = oldest
	}
	if from.IsZero() {
		return 0
	}
	return time.Since(from)
}
