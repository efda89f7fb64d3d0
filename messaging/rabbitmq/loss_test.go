package rabbitmq_test

import (
	"testing"

	"boxoffice/messaging/rabbitmq"
)

func TestDropsLoseNothingConfirmed(t *testing.T) {
	f := newFixture(t)
	l := f.Load(f.Declared(rabbitmq.Options{}), f.Declared(rabbitmq.Options{}))
	for range 4 {
		l.Deliver()
		f.Proxy.Cut()
	}
	l.Deliver()
	l.Finish()
}
