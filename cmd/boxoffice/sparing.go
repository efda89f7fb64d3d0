package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"boxoffice/messaging"
)

// sparingBroker is the broker of several services in one process. What its many
// connections all complain about, and again at each try, is logged once, and
// then less and less often.
type sparingBroker struct {
	connector
	said *said
}

func newSparingBroker(c connector) sparingBroker {
	return sparingBroker{c, &said{complaints: map[complaint]*pauses{}}}
}

func (b sparingBroker) connect(service string, log *slog.Logger) (messaging.Broker, error) {
	return b.connector.connect(service, slog.New(sparingHandler{log.Handler(), b.said}))
}

// sparingHandler drops the complaints that were said a moment ago.
type sparingHandler struct {
	slog.Handler
	said *said
}

// Enabled implements [slog.Handler]. It wants to know what works, too.
func (h sparingHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h sparingHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.said.again(r) || !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h sparingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sparingHandler{h.Handler.WithAttrs(attrs), h.said}
}

// WithGroup implements [slog.Handler].
func (h sparingHandler) WithGroup(name string) slog.Handler {
	return sparingHandler{h.Handler.WithGroup(name), h.said}
}

// complaint is a message and the error that it is about.
type complaint struct{ message, err string }

// pauses is when a complaint may be said again, and how long that was put off.
type pauses struct {
	due  time.Time
	last time.Duration
}

const (
	firstSilence  = 5 * time.Second
	lastSilence   = time.Minute
	maxComplaints = 100 // that are remembered; there are a few kinds
)

// said is what was said lately.
type said struct {
	mu         sync.Mutex
	complaints map[complaint]*pauses
}

// again reports whether a record is to be logged.
func (s *said) again(r slog.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Level < slog.LevelWarn { // something works: what fails after it is news
		clear(s.complaints)
		return true
	}
	c := complaint{message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			c.err = a.Value.String()
		}
		return true
	})
	p, now := s.complaints[c], time.Now()
	switch {
	case p == nil && len(s.complaints) >= maxComplaints:
		clear(s.complaints)
		fallthrough
	case p == nil:
		p = &pauses{}
		s.complaints[c] = p
	case now.Before(p.due):
		return false
	}
	p.last = min(max(2*p.last, firstSilence), lastSilence)
	p.due = now.Add(p.last)
	return true
}
