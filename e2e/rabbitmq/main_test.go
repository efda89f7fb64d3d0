// Package rabbitmq_test does to a real RabbitMQ what the driver's own tests
// cannot, for they are handed one that others may use: it is killed, restarted
// and reconfigured. And it proves the topology and the rights of the tickets.
package rabbitmq_test

import (
	"os"
	"testing"

	"boxoffice/internal/testserver"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

// What the tests use most.
const (
	queue = rabbitmqtest.WorkQueue
	key   = rabbitmqtest.Key
)

// fixture is a test with an empty virtual host of a server of our own.
type fixture struct {
	*rabbitmqtest.Fixture
	machine *testserver.Rabbit
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{rabbitmqtest.New(t, server(t)), machine(t)}
}

func server(tb testing.TB) rabbitmqtest.Server {
	tb.Helper()
	r := testserver.SharedRabbitMQ(tb)
	return rabbitmqtest.Server{URL: r.URL, ManagementURL: r.ManagementURL, KeepVHosts: true}
}

func receive[T any](f *fixture, ch <-chan T, what string) T {
	f.Helper()
	return rabbitmqtest.Receive(f.Fixture, ch, what)
}

// machine is the server itself, which a test may kill.
func machine(tb testing.TB) *testserver.Rabbit {
	tb.Helper()
	return testserver.SharedRabbitMQ(tb)
}
