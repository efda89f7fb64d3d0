// Package incident keeps logs readable while something is wrong. It guarantees
// one line when a condition begins and one when it is over, with how often it
// was met and for how long, however many requests or tries meet it in between.
package incident

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// quiet is how long a condition must not have been met to be over. Nobody
// knows sooner: where few ask, few are refused.
const quiet = time.Minute

// Condition is something that is wrong for a while. Two with the same Key are
// the same one.
type Condition struct {
	Key    string // "": Begins
	Begins string // the line when it begins
	Ends   string // the line when it is over
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

	mu     sync.Mutex
	open   map[string]*incident
	closed bool
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
// when it was not reported for a minute.
func (l *Log) Report(ctx context.Context, c Condition, err error, attrs ...any) {
	if l.add(c, err) {
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
	if l.closed {
		return true
	}
	now := time.Now()
	in, ok := l.open[c.key()]
	if !ok {
		in = &incident{Condition: c, began: now}
		in.over = time.AfterFunc(quiet, func() { l.expire(in) })
		l.open[c.key()] = in
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
	l.mu.Unlock()
	l.end(in)
}

// Close ends all conditions without a word: whether they are over, nobody will
// see. Reports after it are one line each.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for key, in := range l.open {
		in.over.Stop()
		delete(l.open, key)
	}
}

func (l *Log) end(in *incident) {
	attrs := []any{"times", in.count, "lasted", in.last.Sub(in.began).Round(time.Millisecond)}
	if in.lastErr != nil && in.count > 1 {
		attrs = append(attrs, "last_error", OneLine(in.lastErr))
	}
	l.logger.Info(in.Ends, attrs...)
}

// OneLine returns the error's text as one line. Some drivers write one line for
// each address that they tried.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
