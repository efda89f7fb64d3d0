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
	// maxHeaders keeps the headers inside one frame of the broker's default
	// size: they cannot be split, and a frame too large ends the connection.
	maxHeaders = 120 << 10
	maxDepth   = 16
)

// publishing is m as the client sends it, sharing nothing with it. What the
// client would only find unfit while it writes, at the price of the connection
// and of all that is in flight, is an error here.
func publishing(exchange, key string, m messaging.Message) (amqp.Publishing, error) {
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
			return amqp.Publishing{}, fmt.Errorf("its %s has %d bytes, more than %d", p.name, len(p.text), maxShort)
		}
	}
	headers, err := encodeTable(m.Headers, 0)
	if err != nil {
		return amqp.Publishing{}, fmt.Errorf("its headers cannot be sent: %w", err)
	}
	if n := size(headers); n > maxHeaders {
		return amqp.Publishing{}, fmt.Errorf("its headers take %d bytes, more than %d", n, maxHeaders)
	}
	return amqp.Publishing{
		MessageId: m.ID, Type: m.Type, AppId: m.AppID, CorrelationId: m.CorrelationID, ContentType: m.ContentType,
		Timestamp: m.Timestamp, Headers: headers, Body: bytes.Clone(m.Body), DeliveryMode: amqp.Persistent,
	}, nil
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

// size is at least what value takes on the wire.
func size(value any) int {
	n := 9
	switch v := value.(type) {
	case string:
		n += len(v)
	case []byte:
		n += len(v)
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case amqp.Table:
		for name, e := range v {
			n += 1 + len(name) + size(e)
		}
	}
	return n
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
