package rabbitmq_test

import (
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

func TestContract(t *testing.T) { messagingtest.Run(t, harness()) }

func TestOutcomes(t *testing.T) { messagingtest.RunOutcomes(t, harness()) }

func harness() messagingtest.Harness {
	return messagingtest.Harness{Fresh: func(t *testing.T) messagingtest.Env {
		f := newFixture(t)
		return messagingtest.Env{
			Connect: func(t *testing.T, name string) messaging.Broker {
				return open(t, f.url, rabbitmq.Options{Name: name, MaxBackoff: time.Second})
			},
			ConnectSmall: func(t *testing.T, name string) messaging.Broker {
				return open(t, f.url, rabbitmq.Options{Name: name, FrameSize: 8192})
			},
			DropConnections: func(*testing.T) { f.dropConnections() },
			Outage: func(t *testing.T) func() {
				f.server.Kill(t)
				return func() { f.server.Start(t) }
			},
		}
	}}
}

// dropConnections has the broker close every connection of the virtual host.
func (f *fixture) dropConnections() {
	f.Helper()
	f.server.Ctl(f.T, "close_all_connections", "--vhost", f.vhost, "test")
}
