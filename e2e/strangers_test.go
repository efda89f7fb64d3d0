package e2e_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// stranger is a message that no service of ours sent.
type stranger struct {
	body    string // %s is the id of a booking that there is not
	kind    string // the property type
	headers map[string]any
	attempt float64 // as which it is parked; 0: 1
	reason  string  // of its being parked
}

const (
	strangersTrace  = "0af7651916cd43dd8448eb211c80319c"
	strangersParent = "00-" + strangersTrace + "-b7ad6b7169203331-01"
)

// complete is a body in which each event finds all that it needs.
const complete = `{"bookingId":"%s","seat":1,"customer":"eve","amount":1,"reason":"none"}`

// anywhere are strange on every queue.
func anywhere() map[string]stranger {
	return map[string]stranger{
		"empty":             {reason: "the body is empty"},
		"no JSON":           {body: "hello", reason: "invalid character"},
		"half JSON":         {body: `{"bookingId":"`, reason: "unexpected end of JSON"},
		"an array":          {body: `[{"bookingId":"%s"}]`, reason: "cannot unmarshal array"},
		"null":              {body: `null`, reason: "bookingId is missing"},
		"no booking":        {body: `{"seat":1,"customer":"eve","amount":1,"reason":"none"}`, reason: "bookingId is missing"},
		"no id":             {body: `{"bookingId":"12","seat":1,"customer":"eve","amount":1,"reason":"none"}`, reason: "invalid UUID"},
		"a number as id":    {body: `{"bookingId":12,"seat":1,"customer":"eve","amount":1,"reason":"none"}`, reason: "the body is no"},
		"an unknown event":  {body: complete, kind: "SeatStolen", reason: `"SeatStolen"`},
		"another's type":    {body: complete, kind: "SeatPainted.BookingCreated", reason: "not"},
		"a long type":       {body: complete, kind: strings.Repeat("x", 255), reason: "not"},
		"a large body":      {body: `{"bookingId":"%s","pad":"` + strings.Repeat("x", 1<<20) + `"}`, reason: "larger than 65536 bytes"},
		"a deep body":       {body: strings.Repeat("[", 60_000), reason: "exceeded max depth"},
		"odd headers":       {headers: oddHeaders(), reason: "the body is empty"},
		"an odd attempt":    {headers: map[string]any{"x-attempt": "many"}, reason: "the body is empty"},
		"a text as attempt": {headers: map[string]any{"x-attempt": "3"}, attempt: 3, reason: "the body is empty"},
		"a table as trace":  {headers: map[string]any{"traceparent": map[string]any{"a": "b"}}, reason: "the body is empty"},
		"a trace":           {headers: map[string]any{"traceparent": strangersParent}, reason: "the body is empty"},
	}
}

func oddHeaders() map[string]any {
	return map[string]any{
		"table": map[string]any{"in": map[string]any{"in": []any{1, "two", 3.5, map[string]any{}}}}, "array": []any{[]any{}, true},
		"float": 1.5e300, "large": int64(1) << 62, "negative": -1, "bool": false, "": "no name",
		"x-attempt": []any{1}, "x-reason": map[string]any{"a": 1}, "x-service": 5, "x-trace-id": true,
		"x-death": "none", "x-delivery-count": "none", "x-first-death-queue": 1, "baggage": "=,;%", "tracestate": 1.5,
	}
}

// particular are strange on one queue.
func particular(queue string) map[string]stranger {
	if queue == "booking.PaymentSucceeded" { // which needs nothing but an id
		return map[string]stranger{"another event": {body: `{"bookingId":"%s","seat":1,"reason":"none"}`, reason: "unknown booking"}}
	}
	found := map[string]stranger{
		"another event":    {body: `{"bookingId":"%s"}`, reason: "is missing"}, // PaymentSucceeded
		"a text as seat":   {body: strings.Replace(complete, `"seat":1`, `"seat":"1"`, 1), reason: "cannot unmarshal string"},
		"half a seat":      {body: strings.Replace(complete, `"seat":1`, `"seat":1.5`, 1), reason: "cannot unmarshal number"},
		"a seat below all": {body: strings.Replace(complete, `"seat":1`, `"seat":-1`, 1), reason: "seat is missing or not from 1"},
		"a seat too large": {body: strings.Replace(complete, `"seat":1`, `"seat":9223372036854775808`, 1), reason: "cannot unmarshal number"},
	}
	if strings.HasPrefix(queue, "booking.") {
		found["an unknown booking"] = stranger{body: complete, headers: oddHeaders(), reason: "unknown booking"}
	}
	return found
}

// A message from a stranger is parked with its reason, and nothing else happens.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	want := map[string]map[string]stranger{} // by queue and name
	for _, queue := range tickets.System(nil).WorkQueues() {
		want[queue] = anywhere()
		maps.Copy(want[queue], particular(queue))
		for name, m := range want[queue] {
			body := m.body
			if strings.Contains(body, "%s") {
				body = fmt.Sprintf(body, uuid.Must(uuid.NewV7()))
			}
			s.broker.send(queue, properties{ID: name, Type: m.kind, Headers: m.headers}, []byte(body))
		}
	}
	// Whatever is on the queues before it: it is served.
	for _, w := range []struct {
		amount, status string
	}{{"1500", "Cancelled"}, {"450", "Confirmed"}, {"450", "Rejected"}} {
		b := s.book(client.Wish{Seat: 5, Customer: "olena", Amount: tickets.MustAmount(w.amount)})
		if b.Status != w.status {
			t.Errorf("a booking is %s, not %s", b.Status, w.status)
		}
	}
	if n := len(s.settled()); n != 3 { // no reservation and no payment of a stranger's booking either
		t.Errorf("there are %d bookings", n)
	}
	dead := s.end()
	for queue, strangers := range want {
		t.Run(queue, func(t *testing.T) {
			if n := dead[messaging.DeadQueue(queue)]; n != len(strangers) {
				t.Errorf("%d messages are parked, not %d", n, len(strangers))
			}
			checkParked(t, queue, s.broker.peek(messaging.DeadQueue(queue)), strangers)
		})
	}
}

var traceID = regexp.MustCompile("^[0-9a-f]{32}$")

func checkParked(t *testing.T, queue string, parked []message, want map[string]stranger) {
	t.Helper()
	service, _, _ := strings.Cut(queue, ".")
	for _, m := range parked {
		name, headers := m.Properties.ID, m.Properties.Headers
		w, ok := want[name]
		if !ok {
			t.Errorf("%q is parked twice, or was not sent", name)
		}
		delete(want, name)
		if reason, ok := headers["x-reason"].(string); !ok || !strings.Contains(reason, w.reason) {
			t.Errorf("%s: the reason is %v, not %s", name, headers["x-reason"], w.reason)
		}
		if headers["x-service"] != service || headers["x-attempt"] != max(w.attempt, 1) {
			t.Errorf("%s: parked by %v, attempt %v", name, headers["x-service"], headers["x-attempt"])
		}
		id, ok := headers["x-trace-id"].(string)
		if !ok || !traceID.MatchString(id) || strings.Trim(id, "0") == "" || name == "a trace" && id != strangersTrace {
			t.Errorf("%s: the trace is %v", name, headers["x-trace-id"])
		}
	}
	for name := range want {
		t.Errorf("%q is not parked", name)
	}
}
