package rabbitmq_test

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
)

// recorder keeps what is written to a connection.
type recorder struct {
	net.Conn
	mu      sync.Mutex
	written []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.written = append(r.written, p...)
	r.mu.Unlock()
	return r.Conn.Write(p)
}

// lastHeader is the size of the last frame with headers.
func (r *recorder) lastHeader() (size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const greeting, overhead, header = 8, 8, 2
	for rest := r.written[greeting:]; len(rest) > 0; {
		n := int(binary.BigEndian.Uint32(rest[3:7])) + overhead
		if rest[0] == header {
			size = n
		}
		rest = rest[n:]
	}
	return size
}

// What is reckoned is what the client writes, for each type that it knows.
func TestTheSizeOfAHeaderFrameIsExact(t *testing.T) {
	f := newFixture(t)
	var wire *recorder
	conn, err := amqp.DialConfig(f.URL, amqp.Config{Dial: func(network, address string) (net.Conn, error) {
		c, err := net.Dial(network, address)
		wire = &recorder{Conn: c}
		return wire, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"nil": nil, "bool": true, "byte": byte(1), "int8": int8(1), "int16": int16(1), "uint16": uint16(1), "int32": int32(1),
		"uint32": uint32(1), "int64": int64(1), "int": 1, "float32": float32(1), "float64": 1.0, "time": time.Now(),
		"decimal": amqp.Decimal{Scale: 1, Value: 1}, "string": "text", "bytes": []byte("text"),
		"list": []any{"a", int8(1), map[string]any{"k": nil}}, "map": map[string]any{"k": "v", "l": []any{}}, "table": amqp.Table{"k": 1.0},
	}
	messages := []messaging.Message{
		{}, {ID: "id", Type: "type", AppID: "app", CorrelationID: "corr", ContentType: "c", Timestamp: time.Now(), Headers: values, Body: []byte("body")},
	}
	for name, v := range values {
		messages = append(messages, messaging.Message{ID: name, Headers: map[string]any{name: v}})
	}
	for _, m := range messages {
		want, p, err := rabbitmq.HeaderFrame(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := channel.Publish("", "nowhere", false, false, p); err != nil {
			t.Fatal(err)
		}
		if got := wire.lastHeader(); got != want {
			t.Errorf("%s: %d bytes are reckoned, %d were written", m.ID, want, got)
		}
	}
}
