package messaging

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The project's own headers. W3C traceparent, tracestate and baggage travel beside them.
const (
	HeaderAttempt  = "x-attempt"   // which attempt this delivery is, from 1
	HeaderReason   = "x-reason"    // why the message was parked
	HeaderService  = "x-service"   // the service that parked it
	HeaderTraceID  = "x-trace-id"  // the trace in which it was parked
	HeaderParkedAt = "x-parked-at" // when it was parked, RFC 3339
	// HeaderDelivered is how often the message was delivered and handed back
	// before this copy of the same attempt, with which the broker counts anew.
	HeaderDelivered = "x-delivered"
)

// Message is what travels: properties, headers and a body. Every message is
// persistent; drivers set that, and copy Headers and Body, so that a Message
// may be used again after it was published.
type Message struct {
	ID            string // the same for every copy of one event of one run
	Type          string // the event's name
	AppID         string // the service that published it
	CorrelationID string // the event's key
	ContentType   string
	Timestamp     time.Time // seconds on the wire
	// Headers hold string, []byte, bool, int…, float…, time.Time or nil. What a
	// stranger sent may hold anything; read them with the functions below.
	Headers map[string]any
	Body    []byte
}

// Header is a header's text; "" if it is absent or of another type.
func (m Message) Header(name string) string {
	switch v := m.Headers[name].(type) {
	case string:
		return v
	case []byte: // some clients send text as a byte array
		return string(v)
	}
	return ""
}

// Attempt is which attempt this delivery is: 1, if nothing or nonsense says so.
func (m Message) Attempt() int {
	n, ok := integer(m.Headers[HeaderAttempt])
	if !ok || n < 1 || n > 1_000_000 {
		return 1
	}
	return int(n)
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int8:
		return int64(n), true
	case int16:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		return i, err == nil
	}
	return 0, false
}

// maxCopied bounds the headers of a copy, in bytes: brokers want them in one
// frame, beside what is added to them.
const maxCopied = 64 << 10

// copyForRepublish is m without what the broker added (x-death and its kin,
// delivery counts) and without headers that not every broker can send again,
// by their type or size: a copy that cannot be published would hold its
// delivery for ever.
func (m Message) copyForRepublish() Message {
	headers := make(map[string]any, len(m.Headers)+6)
	size := 0
	names := append([]string{"traceparent", "tracestate", "baggage"}, slices.Sorted(maps.Keys(m.Headers))...)
	for _, name := range names {
		value, there := m.Headers[name]
		_, done := headers[name]
		n, ok := scalarSize(value)
		if !there || done || !ok || brokerHeader(name) || len(name) > 255 || size+len(name)+n > maxCopied {
			continue
		}
		size += len(name) + n
		headers[name] = value
	}
	m.Headers = headers
	return m
}

// scalarSize is about what a header's value takes; false if it is none that
// every broker carries.
func scalarSize(value any) (int, bool) {
	switch v := value.(type) {
	case string:
		return len(v) + 16, true
	case []byte:
		return len(v) + 16, true
	case bool, int, int8, int16, int32, int64, float32, float64, time.Time, nil:
		return 16, true
	}
	return 0, false
}

func brokerHeader(name string) bool {
	return name == "x-death" || name == "x-delivery-count" || name == "x-acquired-count" || name == "x-opt-rabbitmq-received-time" ||
		strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// Clone is a copy of m that shares neither headers nor body with it.
func (m Message) Clone() Message {
	m.Headers = maps.Clone(m.Headers)
	for k, v := range m.Headers {
		if b, ok := v.([]byte); ok {
			m.Headers[k] = append([]byte(nil), b...)
		}
	}
	m.Body = append([]byte(nil), m.Body...)
	return m
}

// clip shortens text for a header or a log line, and makes it valid UTF-8.
func clip(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
