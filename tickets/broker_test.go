package tickets

import (
	"testing"
	"time"

	"boxoffice/messaging/inproc/inproctest"
	"boxoffice/messaging/messagingtest"
)

// The routes are those of the topology; e2e/rabbitmq shows it on RabbitMQ.
func TestTheTopologyDoesWhatTheRoutesSay(t *testing.T) {
	messagingtest.RunSystem(t, inproctest.Harness(), System([]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}))
}
