package tickets

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"boxoffice/messaging"
)

var update = flag.Bool("update", false, "write the golden files anew")

func id() uuid.UUID { return uuid.MustParse("0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b") }

func allEvents() []messaging.Event {
	return []messaging.Event{
		BookingCreated{id(), 5, "olena", MustAmount("450.5")},
		SeatReserved{id(), 5, MustAmount("450")},
		SeatRejected{id(), 5, "seat is taken or does not exist"},
		PaymentSucceeded{id()},
		PaymentFailed{id(), 7, "insufficient funds"},
		SeatReleased{id(), 7, "insufficient funds"},
	}
}

// handlers decodes any event by its name, as the services' handlers do.
func handlers() map[string]messaging.Handler {
	all := map[string]messaging.Handler{}
	for _, h := range []messaging.Handler{
		messaging.On(ignore[BookingCreated]), messaging.On(ignore[SeatReserved]), messaging.On(ignore[SeatRejected]),
		messaging.On(ignore[PaymentSucceeded]), messaging.On(ignore[PaymentFailed]), messaging.On(ignore[SeatReleased]),
	} {
		all[h.Event()] = h
	}
	return all
}

func ignore[E messaging.Event](context.Context, E) ([]messaging.Event, error) { return nil, nil }

// The bodies are what other services, scripts and old messages rely on.
func TestEventsOnTheWire(t *testing.T) {
	for _, e := range allEvents() {
		t.Run(messaging.EventName(e), func(t *testing.T) {
			body, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", messaging.EventName(e)+".json")
			if *update {
				if err := os.WriteFile(file, append(body, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(body) != strings.TrimSpace(string(golden)) {
				t.Errorf("%s is %s, but the golden file has %s", messaging.EventName(e), body, golden)
			}
			back, err := handlers()[messaging.EventName(e)].Decode(messaging.Message{Type: messaging.EventName(e), Body: golden})
			if err != nil || !reflect.DeepEqual(back, e) {
				t.Errorf("reads back as %+v, %v", back, err)
			}
		})
	}
}

func TestStrangersBodies(t *testing.T) {
	good := `{"bookingId":"0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b","seat":5,"customer":"olena","amount":450}`
	for name, c := range map[string]struct{ kind, body, want string }{
		"good":              {"BookingCreated", good, ""},
		"no type":           {"", good, ""},
		"unknown fields":    {"", strings.Replace(good, "{", `{"colour":"red",`, 1), ""},
		"another type":      {"SeatReserved", good, "of type"},
		"unknown event":     {"Nonsense", good, "of type"},
		"empty":             {"", "", "empty"},
		"not JSON":          {"", "hello", "no BookingCreated"},
		"null":              {"", "null", "bookingId is missing"},
		"array":             {"", "[]", "no BookingCreated"},
		"trailing garbage":  {"", good + "x", "no BookingCreated"},
		"another event":     {"", `{"bookingId":"0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b"}`, "seat is missing"},
		"no id":             {"", `{"seat":5,"customer":"olena","amount":450}`, "bookingId is missing"},
		"malformed id":      {"", strings.Replace(good, "0192a3b4-", "x", 1), "no BookingCreated"},
		"id is a number":    {"", strings.Replace(good, `"0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b"`, "7", 1), "no BookingCreated"},
		"seat is a string":  {"", strings.Replace(good, "5,", `"5",`, 1), "no BookingCreated"},
		"seat is a float":   {"", strings.Replace(good, "5,", `5.5,`, 1), "no BookingCreated"},
		"amount is a text":  {"", strings.Replace(good, "450", `"450"`, 1), "no BookingCreated"},
		"amount is null":    {"", strings.Replace(good, "450", `null`, 1), "amount"},
		"amount is huge":    {"", strings.Replace(good, "450", `1e400`, 1), "no BookingCreated"},
		"amount is 0":       {"", strings.Replace(good, "450", `0`, 1), "not above 0"},
		"customer is NUL":   {"", strings.Replace(good, "olena", `\u0000`, 1), "NUL"},
		"a NUL in customer": {"", strings.Replace(good, "olena", `ole\u0000na`, 1), "NUL"},
		"half a surrogate":  {"", strings.Replace(good, "olena", `\ud800`, 1), ""},
		"not UTF-8":         {"", strings.Replace(good, "olena", "\xff", 1), ""},
		"a long customer":   {"", strings.Replace(good, "olena", strings.Repeat("x", MaxText), 1), ""},
		"longer":            {"", strings.Replace(good, "olena", strings.Repeat("ї", MaxText/2)+"x", 1), "longer than"},
		"larger than 64 KB": {"", strings.Replace(good, "olena", strings.Repeat("x", 1<<20), 1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := handlers()["BookingCreated"].Decode(messaging.Message{Type: c.kind, Body: []byte(c.body)})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// Whatever a stranger sends, a decoder answers with a complete event or an error.
func FuzzDecode(f *testing.F) {
	for _, e := range allEvents() {
		body, _ := json.Marshal(e)
		f.Add(messaging.EventName(e), body)
	}
	f.Add("BookingCreated", []byte(`{"bookingId":"x"}`))
	all := handlers()
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		h, ok := all[name]
		if !ok {
			h = all["BookingCreated"]
		}
		e, err := h.Decode(messaging.Message{Body: body})
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("an incomplete event was let in: %v", err)
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := h.Decode(messaging.Message{Body: again}); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%s reads back as %+v, %v", again, back, err)
		}
	})
}
