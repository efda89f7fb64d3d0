package booking

import (
	"sync/atomic"
	"time"
)

// outcomes counts what this replica has seen since it started.
type outcomes struct {
	confirmed, rejected, cancelled atomic.Int64
	conflicts                      atomic.Int64 // outcomes that contradicted the booking's
	redriven                       atomic.Int64
}

func (o *outcomes) settled(s Status) {
	switch s {
	case Confirmed:
		o.confirmed.Add(1)
	case Rejected:
		o.rejected.Add(1)
	case Cancelled:
		o.cancelled.Add(1)
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
}

// stats is the door's part of Stats.
func (d *door) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		Accepting: !d.draining,
		Active:    len(d.active), Waiting: len(d.waiting), Overdue: len(d.overdue), MaxActive: d.maxActive,
		ActiveLimit: d.limits.Active, WaitingLimit: d.limits.Waiting,
		Accepted: d.counts.accepted, Throttled: d.counts.throttled, Unavailable: d.counts.unavailable,
	}
}

// retryAfter estimates when there will be room again: the time in which one
// booking finishes at the present rate, at least a second.
func (d *door) retryAfter() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	perSecond := d.finished.value(d.now())
	if perSecond < 0.1 {
		return 10 * time.Second
	}
	return max(time.Second, time.Duration(float64(time.Second)/perSecond))
}
