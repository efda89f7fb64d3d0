package rabbitmqtest

import (
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// Harness returns the broker for the contract's tests: each clause has a virtual
// host of its own, and outages are those of the network. The change of each
// environment, if any, may put real ones in their place.
func Harness(server func(testing.TB) Server, change ...func(*Fixture, *messagingtest.Env)) messagingtest.Harness {
	return messagingtest.Harness{Fresh: func(t *testing.T) messagingtest.Env {
		f := New(t, server(t))
		env := messagingtest.Env{
			Connect: func(t *testing.T, name string) messaging.Broker {
				return Open(t, f.URL, rabbitmq.Options{Name: name, MaxBackoff: time.Second})
			},
			ConnectSmall: func(t *testing.T, name string) messaging.Broker {
				return Open(t, f.URL, rabbitmq.Options{Name: name, FrameSize: 8192})
			},
			DropConnections: func(*testing.T) { f.Proxy.Cut() },
			Outage: func(*testing.T) func() {
				f.Proxy.Down()
				return f.Proxy.Up
			},
		}
		for _, c := range change {
			c(f, &env)
		}
		return env
	}}
}
