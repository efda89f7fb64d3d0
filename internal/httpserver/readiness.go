package httpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	// readyLimit is how long a part may take to say that it works.
	readyLimit = 2 * time.Second
	// checkLimit is when a check's own context ends, so that there is time for
	// the check to say what it was waiting for.
	checkLimit = readyLimit - 200*time.Millisecond
	// knownWait is how long Known waits for a look that runs.
	knownWait = 200 * time.Millisecond
	// readyFor is how long an answer is given again, to whoever asks.
	readyFor = 100 * time.Millisecond
)

// Check is a part that the service needs in order to work.
type Check struct {
	Name string
	// Check is nil if the part works. An error that knows since when it does not
	// has, somewhere in its chain, a method Since() time.Time.
	Check func(context.Context) error
}

// Failure is a part that does not work.
type Failure struct {
	Name  string
	Err   error
	Since time.Time
}

// Readiness is whether the parts that a service needs work, in the same words
// for all who ask. However many ask, the parts are looked at by one look at a
// time, a few times a second. A nil one has no parts.
type Readiness struct {
	parts []*part // what is in them is for the look that runs

	mu      sync.Mutex
	running chan struct{} // closed when the look that runs ends; nil: none runs
	failing []Failure     // of the last look, which ended then:
	ended   time.Time
}

type part struct {
	Check
	answer chan error // of a check that has begun; nil: none has
	since  time.Time  // when it was first seen to fail; zero: it works
}

// NewReadiness is the readiness of a service with these parts. It is a metric
// as well: boxoffice.ready is 1 or 0 for each check.
func NewReadiness(meters metric.MeterProvider, checks ...Check) *Readiness {
	r := &Readiness{}
	for _, c := range checks {
		r.parts = append(r.parts, &part{Check: c})
	}
	meter := meters.Meter("boxoffice/httpserver")
	gauge, _ := meter.Int64ObservableGauge("boxoffice.ready", // the errors here are of malformed names only
		metric.WithDescription("1 for each check of GET /ready that is passed, else 0."))
	_, _ = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		failing := map[string]bool{}
		for _, f := range r.Failing(ctx) {
			failing[f.Name] = true
		}
		for _, p := range r.parts {
			value := int64(1)
			if failing[p.Name] {
				value = 0
			}
			o.ObserveInt64(gauge, value, metric.WithAttributes(attribute.String("check", p.Name)))
		}
		return nil
	}, gauge)
	return r
}

// Failing returns the parts that do not work, in their order. It takes no longer
// than readyLimit: a part that has not answered by then does not work.
func (r *Readiness) Failing(ctx context.Context) []Failure {
	if r == nil {
		return nil
	}
	if running := r.lookAgain(ctx); running != nil {
		<-running
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing
}

// Known is Failing for who asks for figures, and is not to wait for a part that
// hangs: after a moment it returns what the last look has seen.
func (r *Readiness) Known(ctx context.Context) []Failure {
	if r == nil {
		return nil
	}
	if running := r.lookAgain(ctx); running != nil {
		moment := time.NewTimer(knownWait)
		defer moment.Stop()
		select {
		case <-running:
		case <-moment.C:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing
}

// lookAgain returns what is closed when the look that runs has ended; nil, if
// the last one is new enough.
func (r *Readiness) lookAgain(ctx context.Context) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil && (r.ended.IsZero() || time.Since(r.ended) >= readyFor) {
		r.running = make(chan struct{})
		go r.look(context.WithoutCancel(ctx)) // not for this caller alone
	}
	return r.running
}

// look looks at all parts at once.
func (r *Readiness) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	began := time.Now()
	for _, p := range r.parts {
		p.begin(ctx)
	}
	var failing []Failure
	for _, p := range r.parts {
		if err := p.await(ctx); err != nil {
			failing = append(failing, p.failed(err, began))
		} else {
			p.since = time.Time{}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.running)
	r.failing, r.ended, r.running = failing, time.Now(), nil
}

// begin begins the check, unless one of an earlier look still has no answer: a
// part that hangs has one goroutine, however often it is asked.
func (p *part) begin(ctx context.Context) {
	if p.answer != nil && len(p.answer) == 0 {
		return
	} // else there was none, or it came too late to count
	answer := make(chan error, 1)
	p.answer = answer
	go func() {
		limited, cancel := context.WithTimeout(ctx, checkLimit)
		defer cancel()
		err := p.run(limited)
		if err == context.DeadlineExceeded { //nolint:errorlint // which says nothing by itself
			err = errNoAnswer
		}
		answer <- err
	}()
}

var errNoAnswer = fmt.Errorf("no answer within %s", readyLimit)

func (p *part) run(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the check panicked: %v", v)
		}
	}()
	return p.Check.Check(ctx)
}

// await returns the answer of the check. One that is there counts, though time
// may be up because of another part.
func (p *part) await(ctx context.Context) (err error) {
	select {
	case err = <-p.answer:
	case <-ctx.Done():
		select {
		case err = <-p.answer:
		default:
			return errNoAnswer
		}
	}
	p.answer = nil
	return err
}

// failed is the failure of the part, which may itself know since when.
func (p *part) failed(err error, seen time.Time) Failure {
	if p.since.IsZero() {
		p.since = seen
	}
	f := Failure{Name: p.Name, Err: err, Since: p.since}
	var knows interface{ Since() time.Time }
	if errors.As(err, &knows) && !knows.Since().IsZero() {
		f.Since = knows.Since()
	}
	return f
}
