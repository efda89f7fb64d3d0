// Package incident keeps logs readable while something is wrong. It guarantees
// one line when a condition begins and one when it is over, with how often it
// was met and for how long, however many requests or tries meet it in between.
package incident

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// quiet is how long a condition must not have been met to be over.
const quiet = 5 * time.Second

// Condition is something that is wrong for a while. Two with the same Key are
// the same one.
type Condition struct {
	Key    string // "": Begins
	Begins string // the line when it begins
	Ends   string // the line when it is over
	// Lasting conditions are over only when Over says so: what meets them may
	// pause for longer than others are quiet.
	Lasting bool
}

func (c Condition) key() string {
	if c.Key == "" {
		return c.Begins
	}
	return c.Key
}

// Log writes the lines of conditions. It is safe for concurrent use.
type Log struct {
	logger *slog.Logger

	begun atomic.Int64 // how many are open, for who only says that all is well
	mu    sync.Mutex
	open  map[string]*incident
}

type incident struct {
	Condition
	count       int
	began, last time.Time
	lastErr     error
	over        *time.Timer
}

// New makes a Log.
func New(logger *slog.Logger) *Log { return &Log{logger: logger, open: make(map[string]*incident)} }

// Report says that a condition was met, with err if an error is what shows it.
// The first time it writes a line, with the attributes. The condition is over
// when it was not reported for five seconds, unless it is Lasting, or by Over.
func (l *Log) Report(ctx context.Context, c Condition, err error, attrs ...any) {
	if l.add(c, err) { //nolint:contextcheck // what began with this request may end long after it
		if err != nil {
			attrs = append(attrs, "error", OneLine(err))
		}
		l.logger.WarnContext(ctx, c.Begins, attrs...)
	}
}

// add counts, and reports whether the condition begins.
func (l *Log) add(c Condition, err error) (begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	in, ok := l.open[c.key()]
	if !ok {
		in = &incident{Condition: c, began: now}
		if !c.Lasting {
			in.over = time.AfterFunc(quiet, func() { l.expire(in) })
		}
		l.open[c.key()] = in
		l.begun.Add(1)
	}
	in.count++
	in.last, in.lastErr = now, err
	return !ok
}

// expire ends a condition that was not met for long enough.
func (l *Log) expire(in *incident) {
	l.mu.Lock()
	if l.open[in.key()] != in {
		l.mu.Unlock()
		return
	}
	if left := quiet - time.Since(in.last); left > 0 {
		in.over.Reset(left)
		l.mu.Unlock()
		return
	}
	delete(l.open, in.key())
	l.begun.Add(-1)
	l.mu.Unlock()
	l.end(context.Background(), in)
}

// Over says that a condition is over, whether or not it was met before.
func (l *Log) Over(ctx context.Context, c Condition) {
	if l.begun.Load() == 0 {
		return
	}
	l.mu.Lock()
	in, ok := l.open[c.key()]
	if ok {
		delete(l.open, c.key())
		l.begun.Add(-1)
	}
	l.mu.Unlock()
	if !ok {
		return
	}
	if in.over != nil {
		in.over.Stop()
	}
	l.end(ctx, in)
}

func (l *Log) end(ctx context.Context, in *incident) {
	attrs := []any{"times", in.count, "lasted", in.last.Sub(in.began).Round(time.Millisecond)}
	if in.lastErr != nil && in.count > 1 {
		attrs = append(attrs, "last_error", OneLine(in.lastErr))
	}
	l.logger.InfoContext(ctx, in.Ends, attrs...)
}

// OneLine returns the error's text as one line. Some drivers write one line for
// each address that they tried.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
