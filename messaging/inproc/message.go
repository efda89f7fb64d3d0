package inproc

import (
	"fmt"
	"time"

	"boxoffice/messaging"
)

// overhead is what each message counts beyond its body and headers, so that
// empty ones are bounded too.
const overhead = 256

// admit is a copy of m as a broker would hand it on: nothing in it is shared
// with the publisher, and times are whole seconds. It refuses headers that a
// real broker's client could not encode, so that they are found here.
func admit(m messaging.Message) (messaging.Message, error) {
	headers := make(map[string]any, len(m.Headers))
	for k, v := range m.Headers {
		v, err := wire(v)
		if err != nil {
			return messaging.Message{}, fmt.Errorf("%w: header %q: %w", messaging.ErrUnfit, k, err)
		}
		headers[k] = v
	}
	m.Headers = headers
	m.Body = append([]byte(nil), m.Body...)
	m.Timestamp = seconds(m.Timestamp)
	return m, nil
}

// fit is m as admit makes it, without headers that only tracing needs if it is
// too large with them.
func (s *Server) fit(m messaging.Message) (messaging.Message, error) {
	fits := func(m messaging.Message) bool { return weight(m)-overhead-int64(len(m.Body)) <= int64(s.maxHeader) }
	if !fits(m) {
		lighter, _, ok := m.WithoutTracing(fits)
		if !ok {
			return messaging.Message{}, fmt.Errorf("%w: its headers take more than %d bytes", messaging.ErrUnfit, s.maxHeader)
		}
		m = lighter
	}
	return admit(m)
}

// handOut is a copy of a stored message for one reader, who may do with it as he likes.
func handOut(m messaging.Message) messaging.Message {
	m, _ = admit(m) // it was admitted before
	return m
}

func wire(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64:
		return v, nil
	case []byte:
		return append([]byte{}, v...), nil
	case time.Time:
		return seconds(v), nil
	case []any: // with map[string]any, what x-death is made of
		list := make([]any, len(v))
		for i := range v {
			item, err := wire(v[i])
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case map[string]any:
		table := make(map[string]any, len(v))
		for k := range v {
			item, err := wire(v[k])
			if err != nil {
				return nil, err
			}
			table[k] = item
		}
		return table, nil
	}
	return nil, fmt.Errorf("a %T cannot travel", v)
}

func seconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0)
}

// weight is what m counts towards Options.MaxBytes, in each queue.
func weight(m messaging.Message) int64 {
	n := overhead + len(m.Body)
	for k, v := range m.Headers {
		n += len(k) + 8
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return int64(n)
}
