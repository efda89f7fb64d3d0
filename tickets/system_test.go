package tickets

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
)

// The topology is what brokers in use already have: a change of it is refused
// by them, so none may go unseen.
func TestTopologyIsAsPublished(t *testing.T) {
	topology := Topology([]time.Duration{time.Second, 5 * time.Second, 30 * time.Second})
	var b strings.Builder
	for _, e := range topology.Exchanges {
		fmt.Fprintf(&b, "exchange %s\n", e)
	}
	for _, q := range topology.Queues {
		fmt.Fprintf(&b, "queue %s ttl=%s dlx=%s dlk=%s limit=%d\n", q.Name, q.TTL, q.DeadLetterExchange, q.DeadLetterKey, q.DeliveryLimit)
	}
	for _, bind := range topology.Bindings {
		fmt.Fprintf(&b, "binding %s %s -> %s\n", bind.Exchange, bind.Key, bind.Queue)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	slices.Sort(lines) // their order means nothing
	got := strings.Join(lines, "\n") + "\n"
	const file = "testdata/topology.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(golden) {
		t.Errorf("the topology is now:\n%s", got)
	}
}

// The system is sound, and each event of this package has its routes and its
// golden file: a new one that was forgotten somewhere fails here.
func TestTheSystemIsWhole(t *testing.T) {
	s := System([]time.Duration{time.Second})
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range allEvents() {
		names = append(names, messaging.EventName(e))
	}
	slices.Sort(names)
	if !slices.Equal(names, s.Events()) {
		t.Errorf("the tests know %v, the routes %v", names, s.Events())
	}
	for exchange, want := range map[string]string{
		s.EventsExchange(): ExchangeEvents, s.RetryExchange(): ExchangeRetry,
		s.RedeliverExchange(): ExchangeRedeliver, s.DeadExchange(): ExchangeDead,
	} {
		if exchange != want {
			t.Errorf("the exchange is called %s, not %s", exchange, want)
		}
	}
}
