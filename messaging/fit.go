package messaging

import (
	"errors"
	"maps"
)

// ErrUnfit is the error, wrapped, of a message that a broker can never take:
// its headers are too large for one frame, or hold what cannot be sent.
// Publishing it again does not help.
var ErrUnfit = errors.New("the message cannot be sent")

// WithoutTracing is m without as few of the headers that only tracing needs as
// make it fit; the last to go is the trace itself. It names what it left out.
// It is for drivers: fits says whether the broker can take a message.
func (m Message) WithoutTracing(fits func(Message) bool) (lighter Message, dropped []string, ok bool) {
	for _, names := range [...][]string{
		{"tracestate"}, // notes of tracing systems to themselves
		{"baggage"},    // may mean something to who sent it
		{"tracestate", "baggage"},
		{"tracestate", "baggage", "traceparent"},
	} {
		lighter, dropped = m, nil
		lighter.Headers = maps.Clone(m.Headers)
		for _, name := range names {
			if _, there := m.Headers[name]; there {
				delete(lighter.Headers, name)
				dropped = append(dropped, name)
			}
		}
		if fits(lighter) {
			return lighter, dropped, true
		}
	}
	return m, nil, false
}

// bare is a copy with no headers but those that tell what became of it: what
// strangers sent is not worth holding the message for ever.
func (m Message) bare() Message {
	headers := make(map[string]any, len(m.Headers))
	for _, name := range [...]string{
		"traceparent", HeaderAttempt, HeaderService, HeaderTraceID, HeaderParkedAt, HeaderDelivered,
	} {
		if v, there := m.Headers[name]; there {
			headers[name] = v
		}
	}
	if reason := m.Header(HeaderReason); reason != "" {
		headers[HeaderReason] = clip(reason, 200)
	}
	m.Headers = headers
	return m
}
