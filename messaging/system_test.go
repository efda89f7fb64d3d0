package messaging_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

func TestWhatIsWrongWithASystem(t *testing.T) {
	for want, change := range map[string]func(s *messaging.System){
		"":                              func(*messaging.System) {},
		`the prefix "" is not made of`:  func(s *messaging.System) { s.Prefix = "" },
		`the prefix "a.b" is not`:       func(s *messaging.System) { s.Prefix = "a.b" },
		`the service's name "Or#ders"`:  func(s *messaging.System) { s.Services[0].Name = "Or#ders" },
		"two services are called stock": func(s *messaging.System) { s.Services[0].Name = "stock" },
		`"order.placed" is not the name of an event`: func(s *messaging.System) {
			s.Services[0].Publishes = append(s.Services[0].Publishes, "order.placed")
		},
		"orders publishes Forgotten, which nobody consumes; if that is meant, name it in Unheard": func(s *messaging.System) {
			s.Services[0].Publishes = append(s.Services[0].Publishes, "Forgotten")
		},
		"orders consumes Forgotten, which nobody publishes": func(s *messaging.System) {
			s.Services[0].Consumes = append(s.Services[0].Consumes, "Forgotten")
		},
		"OrderShipped is unheard, but orders does not publish it": func(s *messaging.System) {
			s.Services[0].Unheard = []string{"OrderShipped"}
		},
		"orders has an event twice": func(s *messaging.System) {
			s.Services[0].Publishes = []string{"OrderPlaced", "OrderPlaced"}
		},
		"the retry delay 1.5ms is not a whole number of milliseconds": func(s *messaging.System) {
			s.RetryDelays = []time.Duration{1500 * time.Microsecond}
		},
		`the header "traceparent" cannot be carried`: func(s *messaging.System) { s.Carry = []string{"traceparent"} },
		`the header "X-Attempt" cannot be carried`:   func(s *messaging.System) { s.Carry = []string{"X-Attempt"} },
	} {
		s := messagingtest.Shop()
		change(&s)
		switch err := s.Validate(); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		case want != "":
			if _, err := messaging.NewPublisher(inproc.New(inproc.Options{}).Connect("x"), s, messagingtest.Stock, messaging.Instruments{}); err == nil {
				t.Errorf("a publisher takes a system with: %s", want)
			}
		}
	}
}

func TestAHandlerForEachRoute(t *testing.T) {
	conn := inproc.New(inproc.Options{}).Connect("stock")
	placed, refused := messaging.On(drop[messagingtest.OrderPlaced]), messaging.On(drop[messagingtest.PaymentRefused])
	for want, handlers := range map[string][]messaging.Handler{
		"":                             {placed, refused},
		"no handler for OrderPlaced":   {refused},
		"two handlers for OrderPlaced": {placed, refused, placed},
		"a handler for PaymentTaken, which the routes of stock do not have": {placed, refused, messaging.On(drop[messagingtest.PaymentTaken])},
		"events are values": {refused, messaging.On(drop[*messagingtest.OrderPlaced])},
		"its type is none":  {refused, messaging.On(drop[messaging.Event])},
	} {
		p := messagingtest.Publisher(t, conn, messagingtest.Stock, messaging.Instruments{})
		_, err := messaging.NewConsumer(conn, p, messaging.ConsumerConfig{}, messaging.Instruments{}, handlers...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := messaging.NewPublisher(conn, messagingtest.Shop(), "cellar", messaging.Instruments{}); err == nil || !strings.Contains(err.Error(), "cellar has no routes") {
		t.Errorf("a service without routes: %v", err)
	}
}

func drop[E messaging.Event](context.Context, E) ([]messaging.Event, error) { return nil, nil }

// Trap is an event whose decoding and checking panic on what strangers send.
type Trap struct{ Text *string }

func (t Trap) Key() string { return "k" }

func (t Trap) Validate() error {
	_ = *t.Text // there, if one believes the sender
	return nil
}

// Spring is an event whose decoding panics.
type Spring struct{}

func (Spring) Key() string                   { return "k" }
func (Spring) Validate() error               { return nil }
func (*Spring) UnmarshalJSON(b []byte) error { panic(b[99]) }

func TestAPanicOfAStrangersMessageIsAnError(t *testing.T) {
	for name, h := range map[string]messaging.Handler{"Validate": messaging.On(drop[Trap]), "UnmarshalJSON": messaging.On(drop[Spring])} {
		for _, body := range []string{`{}`, `null`} {
			if _, err := h.Decode(messaging.Message{Body: []byte(body)}); err == nil || !strings.Contains(err.Error(), "panic") {
				t.Errorf("%s of %s: %v", name, body, err)
			}
		}
	}
}

func TestNamesFollowFromThePrefix(t *testing.T) {
	s := messagingtest.Shop()
	s.RetryDelays = []time.Duration{time.Second}
	s.BareQueues = false
	for _, q := range s.Topology().Queues {
		if !strings.HasPrefix(q.Name, "shop.") {
			t.Errorf("the queue %s does not begin with the prefix", q.Name)
		}
	}
	for _, e := range s.Topology().Exchanges {
		if !strings.HasPrefix(e, "shop.") {
			t.Errorf("the exchange %s does not begin with the prefix", e)
		}
	}
	if got := s.WorkQueues(); !slices.Contains(got, "shop.stock.OrderPlaced") || len(got) != 7 {
		t.Errorf("work queues %v", got)
	}
}
