package rabbitmq_test

import (
	"testing"

	"go.uber.org/goleak"

	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the tests use most.
const (
	patience = rabbitmqtest.Patience
	queue    = rabbitmqtest.WorkQueue
	key      = rabbitmqtest.Key
)

// fixture is a test with an empty virtual host of its own.
type fixture struct{ *rabbitmqtest.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{rabbitmqtest.New(t, rabbitmqtest.Given(t))}
}

func receive[T any](f *fixture, ch <-chan T, what string) T {
	f.Helper()
	return rabbitmqtest.Receive(f.Fixture, ch, what)
}
