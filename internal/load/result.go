package load

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"
)

// Result is what a run saw.
type Result struct {
	Mode    Mode    `json:"mode"`
	Seconds float64 `json:"seconds"` // for which load was offered
	Offered int     `json:"offered"` // bookings
	NotSent int     `json:"notSent"` // of these, because too many requests were outstanding
	Retries int     `json:"retries"`

	Answers  []Answer `json:"answers"`
	NoAnswer int      `json:"noAnswer"`
	Failure  string   `json:"failure,omitempty"` // why there was none, the first time

	Outcomes Outcomes `json:"outcomes"`
	Saga     Latency  `json:"saga"` // from acceptance to outcome, by the service's clock
	Goodput  Goodput  `json:"goodput"`
	Warnings []string `json:"warnings,omitempty"`
}

// Answer is the answers of one status. In an open loop they count from the
// time for which the request was scheduled.
type Answer struct {
	Status int `json:"status"`

	Latency
}

// Latency is how long something took, in milliseconds.
type Latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50Ms"`
	P95   float64 `json:"p95Ms"`
	P99   float64 `json:"p99Ms"`
	Max   float64 `json:"maxMs"`
}

// Outcomes are what became of the accepted bookings.
type Outcomes struct {
	Confirmed  int `json:"confirmed"`
	Rejected   int `json:"rejected"`
	Cancelled  int `json:"cancelled"` // and their seats are free again
	Unfinished int `json:"unfinished"`
}

// Goodput is how many bookings per second were finished while load was offered.
type Goodput struct {
	Finished  float64 `json:"finished"`
	Confirmed float64 `json:"confirmed"` // of these
}

func (h *histogram) latency() Latency {
	ms := func(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1000 }
	return Latency{h.count, ms(h.quantile(0.5)), ms(h.quantile(0.95)), ms(h.quantile(0.99)), ms(h.max)}
}

func (g *Generator) result() Result {
	r := g.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	res := Result{
		Mode: g.cfg.Mode, Seconds: math.Round(r.ended.Sub(r.began).Seconds()*1000) / 1000,
		Offered: r.offered, NotSent: r.notSent, Retries: r.retried, NoAnswer: r.failed, Failure: r.failure,
		Outcomes: Outcomes{Confirmed: r.outcomes["Confirmed"], Rejected: r.outcomes["Rejected"], Cancelled: r.outcomes["Cancelled"]},
		Saga:     r.saga.latency(),
	}
	for _, status := range slices.Sorted(maps.Keys(r.answers)) {
		res.Answers = append(res.Answers, Answer{status, r.answers[status].latency()})
	}
	if accepted := r.answers[http.StatusAccepted]; accepted != nil {
		res.Outcomes.Unfinished = accepted.count - r.saga.count
	}
	if res.Seconds > 0 {
		finished := 0
		for _, n := range r.inTime {
			finished += n
		}
		perSecond := func(n int) float64 { return math.Round(float64(n)/res.Seconds*10) / 10 }
		res.Goodput = Goodput{perSecond(finished), perSecond(r.inTime["Confirmed"])}
	}
	res.Warnings = g.warnings(res)
	return res
}

// lateEnough is by how much arrivals may miss their time before it is worth a word.
const lateEnough = 100 * time.Millisecond

// warnings say where the run may not have measured what was asked for.
func (g *Generator) warnings(res Result) (all []string) {
	warn := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	// Who fights for few seats is Rejected, as most are for the hot ones: then that nobody got one tells.
	booked := res.Saga.Count - res.Outcomes.Rejected
	if hot := g.cfg.Choice == Hot && booked > 0; !hot && 2*booked < min(res.Saga.Count, g.cfg.Seats) {
		warn("most bookings were Rejected: the seats from 1 to %d are sold, or the hall has fewer. Start the services with SEATS_TOTAL=%d, or empty them with: boxoffice reset",
			g.cfg.Seats, g.cfg.Seats)
	}
	if g.rec.soldOut {
		warn("it ended early: each of the %d seats was booked once; give it more with --seats", g.cfg.Seats)
	}
	if res.NotSent > 0 {
		warn("%d bookings were not sent: %d requests were outstanding already; raise --max-outstanding", res.NotSent, g.cfg.MaxOutstanding)
	}
	if g.rec.late > lateEnough {
		warn("the generator itself was up to %s late, and the latencies include that: the machine is too busy for this rate", g.rec.late.Round(time.Millisecond))
	}
	return all
}
