package booking

import (
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"
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

// Stats is the state of one replica, as GET /stats shows it. Its counters are
// of what this replica has seen since it started, and best effort: an outcome
// whose commit was never answered is counted by nobody. The rows say the truth.
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

func (s *Service) getStats(c echo.Context) error {
	d := s.door.Stats()
	stats := Stats{
		Instance: s.cfg.Instance, Accepting: d.Accepting,
		Active: d.Active, Waiting: d.Waiting, ActiveLimit: d.ActiveLimit, WaitingLimit: d.WaitingLimit, MaxActive: d.MaxActive,
		Accepted: d.Accepted, Throttled: d.Throttled, Unavailable: d.Unavailable,
		Confirmed: s.counts.confirmed.Load(), Rejected: s.counts.rejected.Load(), Cancelled: s.counts.cancelled.Load(),
		Overdue: d.Overdue, Stalled: int(s.counts.stalled.Load()),
		Redriven: s.counts.redriven.Load(), Conflicts: s.counts.conflicts.Load(), Broker: "ok",
	}
	if err := s.broker.Ready(); err != nil {
		stats.Broker = err.Error()
	}
	for _, f := range s.readiness.Known(c.Request().Context()) {
		stats.NotReady = append(stats.NotReady, f.Name)
	}
	return c.JSON(http.StatusOK, stats)
}
