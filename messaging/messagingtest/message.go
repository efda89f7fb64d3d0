package messagingtest

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"boxoffice/messaging"
)

func messages() []clause {
	return []clause{
		{"every property and type of header arrives", "", propertiesArrive},
		{"a message with nothing in it arrives", "", emptyMessageArrives},
		{"bodies arrive as they are: empty, binary, one megabyte", "", bodiesArrive},
		{"the delivery says where it came from", "", deliveryHasItsRoute},
	}
}

func propertiesArrive(f *fixture) {
	b := f.declared("publisher")
	at := time.Unix(1_700_000_000, 0)
	want := messaging.Message{
		ID: "id-1", Type: "PaymentRefused", AppID: "payments", CorrelationID: "0190-Ω",
		ContentType: "application/json", Timestamp: at, Body: []byte(`{"a":1}`),
		Headers: map[string]any{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			"tracestate":  "a=1,b=2", "baggage": "lab=stock.OrderPlaced%3Dfail%2A2",
			messaging.HeaderAttempt: int64(3),
			"text":                  "žluťoučký 🎫", "empty": "", "bytes": []byte{0, 1, 255},
			"true": true, "false": false, "nil": nil, "time": at,
			"int": 7, "int8": int8(-8), "int16": int16(-16), "int32": int32(-32), "int64": int64(-1) << 40,
			"float32": float32(1.5), "float64": 2.25,
		},
	}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", want)
	got := f.next(stockQueue).Message
	if !got.Timestamp.Equal(want.Timestamp) {
		f.Errorf("timestamp is %v, want %v", got.Timestamp, want.Timestamp)
	}
	expectHeaders(f, got.Headers, want.Headers)
	got.Timestamp, got.Headers, want.Timestamp, want.Headers = time.Time{}, nil, time.Time{}, nil
	if !reflect.DeepEqual(got, want) {
		f.Errorf("got %+v, want %+v", got, want)
	}
}

// expectHeaders fails unless all headers of want are there. Numbers may change
// their size on the way, nothing may change its kind.
func expectHeaders(f *fixture, got, want map[string]any) {
	f.Helper()
	for k, v := range want {
		g, ok := got[k]
		if !ok {
			f.Errorf("header %s is missing", k)
		} else if plain(g) != plain(v) {
			f.Errorf("header %s is %s, want %s", k, plain(g), plain(v))
		}
	}
}

func plain(v any) string {
	if t, ok := v.(time.Time); ok {
		return fmt.Sprint("time ", t.Unix())
	}
	r := reflect.ValueOf(v)
	switch {
	case v == nil:
		return "nil"
	case r.CanInt():
		return fmt.Sprint("integer ", r.Int())
	case r.CanUint():
		return fmt.Sprint("integer ", r.Uint())
	case r.CanFloat():
		return fmt.Sprint("float ", r.Float())
	}
	return fmt.Sprintf("%T %v", v, v)
}

func emptyMessageArrives(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", messaging.Message{})
	got := f.next(placedQueue).Message
	if !got.Timestamp.IsZero() || got.ID+got.Type+got.AppID+got.CorrelationID+got.ContentType != "" || len(got.Body) != 0 {
		f.Errorf("got %+v, want nothing", got)
	}
	if got.Attempt() != 1 || got.Header("traceparent") != "" {
		f.Errorf("an empty message says attempt %d, traceparent %q", got.Attempt(), got.Header("traceparent"))
	}
}

func bodiesArrive(f *fixture) {
	b := f.declared("publisher")
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte(i * 31)
	}
	for _, body := range [][]byte{nil, {}, {0}, []byte("\xff\xfe no UTF-8"), large} {
		f.publish(b, Shop().EventsExchange(), "OrderPlaced", messaging.Message{ID: "body", Body: body})
		if got := f.next(placedQueue).Body; !bytes.Equal(got, body) {
			f.Errorf("sent %d bytes, got %d or other ones", len(body), len(got))
		}
	}
}

func deliveryHasItsRoute(f *fixture) {
	b := f.declared("publisher")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", message("event"))
	d := f.next(stockQueue)
	if d.Queue != stockQueue || d.Exchange != Shop().EventsExchange() || d.Key != "PaymentRefused" || d.Count != 0 {
		f.Errorf("got queue %s, exchange %s, key %s, count %d", d.Queue, d.Exchange, d.Key, d.Count)
	}
	f.publish(b, Shop().RetryExchange(), messaging.RetryKey(shortDelay, stockQueue), message("retry"))
	d = f.next(stockQueue)
	if d.Exchange != Shop().RedeliverExchange() || d.Key != messaging.RetryKey(shortDelay, stockQueue) {
		f.Errorf("a message that waited came with exchange %s, key %s", d.Exchange, d.Key)
	}
}
