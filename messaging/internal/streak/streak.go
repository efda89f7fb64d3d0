// Package streak says less often what fails again and again. A [Streak] is a
// run of failures with no success between them: it tells when a failure is
// worth a line in the log, when it is over, and since when it lasts.
package streak

import (
	"sync"
	"sync/atomic"
	"time"
)

// Reminder is how often a streak that lasts is said again.
const Reminder = time.Minute

// Streak counts failures from the first one on. The zero value has none. It is
// safe for concurrent use.
type Streak struct {
	lasts atomic.Bool // so that a success costs no lock

	mu   sync.Mutex
	run  Run
	said time.Time
}

// Run is what a streak came to.
type Run struct {
	Since time.Time // of the first failure
	Tries int
	Err   error // the last one
}

// Lasted is how long ago the first failure was, as a log shows it.
func (r Run) Lasted() time.Duration { return time.Since(r.Since).Round(time.Millisecond) }

// Failed counts a failure, and reports whether to say so: it is the first, or
// the streak was not mentioned for a while.
func (s *Streak) Failed(err error) (r Run, say bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.run.Tries == 0 {
		s.run.Since, s.said = now, time.Time{}
		s.lasts.Store(true)
	}
	s.run.Tries++
	s.run.Err = err
	if now.Sub(s.said) < Reminder {
		return s.run, false
	}
	s.said = now
	return s.run, true
}

// Worked ends the streak, and reports whether there was one.
func (s *Streak) Worked() (r Run, ended bool) {
	if !s.lasts.Load() {
		return Run{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, s.run = s.run, Run{}
	s.lasts.Store(false)
	return r, r.Tries > 0
}

// Err is the last failure, which tells since when there are some; nil if there
// are none.
func (s *Streak) Err() error {
	if !s.lasts.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.Tries == 0 {
		return nil
	}
	return At(s.run.Err, s.run.Since)
}

// At is err, known since then. Whoever asks finds it by
// errors.As(err, &interface{ Since() time.Time }), also when it is wrapped.
func At(err error, since time.Time) error { return &failure{err, since} }

type failure struct {
	err   error
	since time.Time
}

func (f *failure) Error() string    { return f.err.Error() }
func (f *failure) Unwrap() error    { return f.err }
func (f *failure) Since() time.Time { return f.since }
