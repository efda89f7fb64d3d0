package rabbitmq_test

import (
	"net"
	neturl "net/url"
	"testing"
	"time"

	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// After a long outage the first connection that is back wakes the others.
func TestOneSuccessWakesTheSiblings(t *testing.T) {
	f := newFixture(t)
	u, err := neturl.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	u.Host = address
	gate := rabbitmq.NewGate()
	var brokers []*rabbitmq.Broker
	for range 5 { // of which each alone would wait for an hour
		b := rabbitmqtest.Open(t, u.String(), rabbitmq.Options{Gate: gate, MinBackoff: time.Hour, MaxBackoff: time.Hour})
		brokers = append(brokers, b)
		f.says(b.Ready, "connection refused")
	}
	p := rabbitmqtest.NewProxyAt(t, address, f.URL)
	first := rabbitmqtest.Open(t, p.URL, rabbitmq.Options{Gate: gate})
	for _, b := range append(brokers, first) {
		f.well(b.Ready)
	}
}
