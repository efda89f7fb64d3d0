package rabbitmq

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

const (
	maxShort = 255 // bytes in a property, a key or a header's name
	maxDepth = 16
)

// outgoing is a message as the client sends it, sharing nothing with the caller.
type outgoing struct {
	exchange, key string
	message       amqp.Publishing
	header        int               // the size of the frame with its headers
	source        messaging.Message // whose headers are the caller's
}

// newOutgoing finds what the client would only find unfit while it writes, at
// the price of the connection and of all that is in flight. It is ErrUnfit.
func newOutgoing(exchange, key string, m messaging.Message) (*outgoing, error) {
	for _, p := range [...]struct{ name, text string }{
		{"exchange", exchange},
		{"key", key},
		{"id", m.ID},
		{"type", m.Type},
		{"app id", m.AppID},
		{"correlation id", m.CorrelationID},
		{"content type", m.ContentType},
	} {
		if len(p.text) > maxShort {
			return nil, fmt.Errorf("%w: its %s has %d bytes, more than %d", messaging.ErrUnfit, p.name, len(p.text), maxShort)
		}
	}
	headers, err := encodeTable(m.Headers, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: its headers: %w", messaging.ErrUnfit, err)
	}
	return &outgoing{exchange: exchange, key: key, source: m, header: headerFrame(m), message: amqp.Publishing{
		MessageId: m.ID, Type: m.Type, AppId: m.AppID, CorrelationId: m.CorrelationID, ContentType: m.ContentType,
		Timestamp: m.Timestamp, Headers: headers, Body: bytes.Clone(m.Body), DeliveryMode: amqp.Persistent,
	}}, nil
}

// fit leaves out headers that only tracing needs, and names them. If the rest
// does not fit either it is ErrUnfit.
func (o *outgoing) fit(most int) (dropped []string, err error) {
	lighter, dropped, ok := o.source.WithoutTracing(func(m messaging.Message) bool { return headerFrame(m) <= most })
	if !ok {
		return nil, fmt.Errorf("%w: its properties and headers take %d bytes, and a frame has room for %d", messaging.ErrUnfit, o.header, most)
	}
	for _, name := range dropped {
		delete(o.message.Headers, name)
	}
	o.source, o.header = lighter, headerFrame(lighter)
	return dropped, nil
}

func encodeTable(headers map[string]any, depth int) (amqp.Table, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("they are nested more than %d deep", maxDepth)
	}
	table := make(amqp.Table, len(headers))
	for name, value := range headers {
		if len(name) > maxShort {
			return nil, fmt.Errorf("a header's name has %d bytes, more than %d", len(name), maxShort)
		}
		var err error
		if table[name], err = encode(value, depth); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return table, nil
}

func encode(value any, depth int) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, byte, int8, int16, int32, int64, uint16, uint32, float32, float64, time.Time, amqp.Decimal:
		return v, nil
	case int: // the client would cut it to 32 bits
		return int64(v), nil
	case []byte:
		return bytes.Clone(v), nil
	case map[string]any:
		return encodeTable(v, depth+1)
	case amqp.Table:
		return encodeTable(v, depth+1)
	case []any:
		if depth >= maxDepth {
			return nil, fmt.Errorf("nested more than %d deep", maxDepth)
		}
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = encode(v[i], depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("a header cannot hold a %T", value)
}

// headerFrame is how many bytes the frame with m's properties and headers has.
func headerFrame(m messaging.Message) int {
	const (
		frame  = 8             // type, channel, size; end
		fields = 2 + 2 + 8 + 2 // class, weight, size of the body, which properties there are
		others = 1             // delivery mode
	)
	n := frame + fields + others
	for _, text := range [...]string{m.ID, m.Type, m.AppID, m.CorrelationID, m.ContentType} {
		if text != "" {
			n += 1 + len(text)
		}
	}
	if !m.Timestamp.IsZero() {
		n += 8
	}
	if len(m.Headers) > 0 {
		n += size(m.Headers) - 1 // without a type
	}
	return n
}

// size is what a header's value takes, with its type.
func size(value any) int {
	switch v := value.(type) {
	case nil:
		return 1
	case bool, byte, int8:
		return 2
	case int16, uint16:
		return 3
	case int32, uint32, float32:
		return 5
	case amqp.Decimal:
		return 6
	case string:
		return 5 + len(v)
	case []byte:
		return 5 + len(v)
	case []any:
		n := 5
		for _, e := range v {
			n += size(e)
		}
		return n
	case map[string]any:
		n := 5
		for name, e := range v {
			n += 1 + len(name) + size(e)
		}
		return n
	case amqp.Table:
		return size(map[string]any(v))
	}
	return 9 // int64 and int, float64, time.Time
}

// received is a delivery as a Message. Nested tables become plain maps, so that
// readers need not know the client's types.
func received(d *amqp.Delivery) messaging.Message {
	m := messaging.Message{
		ID: d.MessageId, Type: d.Type, AppID: d.AppId, CorrelationID: d.CorrelationId, ContentType: d.ContentType,
		Timestamp: d.Timestamp, Headers: maps.Clone(map[string]any(d.Headers)), Body: d.Body,
	}
	for name, value := range m.Headers {
		m.Headers[name] = decode(value)
	}
	return m
}

func decode(value any) any {
	switch v := value.(type) {
	case amqp.Table:
		plain := make(map[string]any, len(v))
		for name, e := range v {
			plain[name] = decode(e)
		}
		return plain
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = decode(list[i])
		}
		return list
	}
	return value
}

// timesReturned is how often the broker had delivered d before and got it back.
// The header is the broker's only on a redelivery; anyone may have sent it.
func timesReturned(d *amqp.Delivery) int {
	if !d.Redelivered {
		return 0
	}
	switch n := d.Headers["x-delivery-count"].(type) {
	case int64:
		return int(max(n, 0))
	case int32:
		return int(max(n, 0))
	}
	return 0
}
