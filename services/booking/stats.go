package booking

import (
	"net/http"
	"sync/atomic"
	"time"
)

// outcomes counts what this replica has seen since it started.
type outcomes struct {
	confirmed, rejected, cancelled atomic.Int64
	conflicts                      atomic.Int64 // outcomes that contradicted the booking's
	redriven                       atomic.Int64
	stalled                        atomic.Int64 // at the last look, of all replicas
}

func (o *outcomes) settled(s Status) {
	switch s {
	case Confirmed:
		o.confirmed.Add(1)
	case Rejected:
		o.rejected.Add(1)
	case Cancelled:
		o.cancelled.Add(1)
	case Pending: // is no outcome
	}
}

// Stats is the state of one replica, as GET /stats shows it.
type Stats struct {
	Instance     string `json:"instance"`
	Accepting    bool   `json:"accepting"`
	Active       int    `json:"active"`
	Waiting      int    `json:"waiting"`
	ActiveLimit  int    `json:"activeLimit"`
	WaitingLimit int    `json:"waitingLimit"`
	MaxActive    int    `json:"maxActive"`
	Accepted     int64  `json:"accepted"`
	Throttled    int64  `json:"throttled"`
	Unavailable  int64  `json:"unavailable"`
	Confirmed    int64  `json:"confirmed"`
	Rejected     int64  `json:"rejected"`
	Cancelled    int64  `json:"cancelled"`
	Overdue      int    `json:"overdue"` // in the overdue budget
	Stalled      int    `json:"stalled"` // redriven as often as allowed; of all replicas
	Redriven     int64  `json:"redriven"`
	Conflicts    int64  `json:"conflicts"`
	Broker       string `json:"broker"` // "ok", or what is wrong

	NotReady []string `json:"notReady,omitempty"` // the parts that GET /ready names
}

// stats is the door's part of Stats.
func (d *door) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		Accepting: d.restored && !d.draining,
		Active:    len(d.active), Waiting: len(d.waiting), Overdue: len(d.overdue), MaxActive: d.maxActive,
		ActiveLimit: d.limits.Active, WaitingLimit: d.limits.Waiting,
		Accepted: d.counts.accepted, Throttled: d.counts.throttled, Unavailable: d.counts.unavailable,
	}
}

// refused counts a refusal.
func (d *door) refused(status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if status == http.StatusTooManyRequests {
		d.counts.throttled++
	} else {
		d.counts.unavailable++
	}
}

// idleFor is how long nothing has finished, counted from the later of the last
// finish and the start of the oldest active booking.
func (d *door) idleFor() time.Duration {
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
	return d.now().Sub(from)
}

// unknownPace is when to come back to a door of which nobody knows when it will
// have room.
const unknownPace = 10 * time.Second

// retryAfter estimates when there will be room for the next client that is
// refused: each is promised the next place that becomes free at the pace of the
// door, so that all of them do not come back at once. It is at least a second,
// and at most the time in which everything that is here now has finished. While
// there is a pause that may end at any moment, it is no more than unknownPace.
func (d *door) retryAfter() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, perSecond := d.now(), d.pace.perSecond()
	if perSecond == 0 {
		return unknownPace
	}
	each := time.Duration(float64(time.Second) / perSecond)
	if d.promised.Before(now) {
		d.promised = now
	}
	d.promised = d.promised.Add(each)
	here := len(d.active) + len(d.waiting) + len(d.overdue)
	most := min(time.Minute, time.Duration(here)*each)
	if d.pace.paused || now.Sub(d.lastFinish) > longPause {
		most = min(most, unknownPace)
	}
	if d.promised.Sub(now) > most {
		d.promised = now.Add(most)
	}
	return max(time.Second, d.promised.Sub(now))
}
