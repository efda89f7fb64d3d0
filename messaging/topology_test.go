package messaging

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The topology is what brokers in use already have: a change of it is refused
// by them, so none may go unseen.
func TestTopologyIsAsPublished(t *testing.T) {
	topology := NewTopology([]time.Duration{time.Second, 5 * time.Second, 30 * time.Second})
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
	const file = "testdata/topology.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(golden) {
		t.Errorf("the topology is now:\n%s", &b)
	}
}
