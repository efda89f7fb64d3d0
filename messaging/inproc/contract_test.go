package inproc_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func harness() messagingtest.Harness {
	return messagingtest.Harness{Fresh: func(*testing.T) messagingtest.Env {
		server := inproc.New(inproc.Options{MaxHeader: 8192})
		var mu sync.Mutex
		var conns []*inproc.Conn
		connect := func(_ *testing.T, name string) messaging.Broker {
			c := server.Connect(name)
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, c)
			return c
		}
		return messagingtest.Env{
			Connect:      connect,
			ConnectSmall: connect,
			DropConnections: func(*testing.T) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range conns {
					c.Drop()
				}
			},
			Outage: func(*testing.T) (start func()) {
				server.Stop()
				return server.Start
			},
		}
	}}
}

func TestContract(t *testing.T) { messagingtest.Run(t, harness()) }

func TestOutcomes(t *testing.T) { messagingtest.RunOutcomes(t, harness()) }
