package payments

import (
	"testing"

	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
)

func TestRun(t *testing.T) {
	participanttest.TestRun(t, func(t *testing.T, url string, broker messaging.Broker) participanttest.Service {
		return newService(t, url, broker, Config{Bank: plain()})
	}, "payments.SeatReserved")
}
