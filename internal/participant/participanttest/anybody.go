package participanttest

import (
	"testing" //nolint:depguard // it is for tests

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Anybody returns a publisher of every event, for tests that speak for the other
// services.
func Anybody(tb testing.TB, b messaging.Broker) *messaging.Publisher {
	tb.Helper()
	p, err := messaging.NewPublisher(b, tickets.WithAnybody("anybody", nil), "anybody", messaging.Instruments{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
