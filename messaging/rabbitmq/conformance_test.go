package rabbitmq_test

import (
	"testing"

	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestContract(t *testing.T) { messagingtest.Run(t, harness()) }

func TestOutcomes(t *testing.T) { messagingtest.RunOutcomes(t, harness()) }

func TestSystems(t *testing.T) {
	for name, s := range messagingtest.Systems() {
		t.Run(name, func(t *testing.T) { messagingtest.RunSystem(t, harness(), s) })
	}
}

func harness() messagingtest.Harness { return rabbitmqtest.Harness(rabbitmqtest.Given) }
