package load

import (
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"boxoffice/internal/client"
)

// recorder counts what happens.
type recorder struct {
	mu       sync.Mutex
	began    time.Time
	ended    time.Time // when nothing was offered any more; zero before
	offered  int
	notSent  int
	retried  int
	answers  map[int]*histogram // by status
	failed   int                // no answer, or none of ours
	failure  string             // the first of them
	outcomes map[string]int     // by status
	inTime   map[string]int     // of these, while load was offered
	clock    time.Duration      // by how much our clock is ahead of the service's, at most
	saga     histogram
	late     time.Duration // the most by which an arrival missed its time because of us
	soldOut  bool          // each seat was drawn
}

func newRecorder() *recorder {
	return &recorder{
		began: time.Now(), clock: math.MaxInt64,
		answers: make(map[int]*histogram), outcomes: make(map[string]int), inTime: make(map[string]int),
	}
}

func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = time.Now()
}

// end says that nothing is offered any more. Only the first call counts.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended.IsZero() {
		r.ended = time.Now()
	}
}

func (r *recorder) arrival(late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offered++
	r.late = max(r.late, late)
}

func (r *recorder) overflow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notSent++
}

func (r *recorder) retry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retried++
}

func (r *recorder) drawnOut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.soldOut = true
}

// answer counts an answer that came after d.
func (r *recorder) answer(b client.Booking, err error, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, refused := errors.AsType[*client.ProblemError](err)
	switch {
	case err == nil:
		r.clock = min(r.clock, time.Since(b.CreatedAt))
		r.count(http.StatusAccepted, d)
	case refused:
		r.count(p.Status, d)
	default:
		r.failed++
		if r.failure == "" {
			r.failure = err.Error()
		}
	}
}

func (r *recorder) count(status int, d time.Duration) {
	h := r.answers[status]
	if h == nil {
		h = &histogram{}
		r.answers[status] = h
	}
	h.add(d)
}

// outcome counts a booking that is finished. When it was, its service says: we may look late.
func (r *recorder) outcome(b client.Booking) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[b.Status]++
	r.saga.add(b.UpdatedAt.Sub(b.CreatedAt))
	if r.ended.IsZero() || !b.UpdatedAt.Add(r.clock).After(r.ended) {
		r.inTime[b.Status]++
	}
}

// Progress is how far a run is.
type Progress struct {
	Elapsed     time.Duration
	Offered     int
	Outstanding int // requests without an answer
	Accepted    int
	Refused     int // 429 and 503
	Finished    int
	Settling    bool // nothing is offered any more
}

func (r *recorder) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Elapsed: time.Since(r.began), Offered: r.offered, Settling: !r.ended.IsZero()}
	answered := r.failed
	for status, h := range r.answers {
		answered += h.count
		switch status {
		case http.StatusAccepted:
			p.Accepted = h.count
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			p.Refused += h.count
		}
	}
	p.Outstanding = r.offered - r.notSent + r.retried - answered
	for _, n := range r.outcomes {
		p.Finished += n
	}
	return p
}
