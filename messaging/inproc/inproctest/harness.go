// Package inproctest has the embedded broker for tests of the contract and of
// systems on it.
package inproctest

import (
	"sync"
	"testing"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

// Harness returns the embedded broker: each clause has a server of its own.
func Harness() messagingtest.Harness {
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
