package rabbitmq_test

import (
	"testing"

	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// harness is of the clauses about one failure, which here is a real one: the
// broker is killed, and it closes connections by itself.
func harness(only messagingtest.Ability) messagingtest.Harness {
	h := rabbitmqtest.Harness(server, func(f *rabbitmqtest.Fixture, env *messagingtest.Env) {
		env.DropConnections = func(t *testing.T) { machine(t).Ctl(t, "close_all_connections", "--vhost", f.VHost, "test") }
		env.Outage = func(t *testing.T) func() {
			machine(t).Kill(t)
			return func() { machine(t).Start(t) }
		}
	})
	h.Only = only
	return h
}

func TestContractWhenTheBrokerIsKilled(t *testing.T) {
	messagingtest.Run(t, harness(messagingtest.Outage))
}

func TestOutcomesWhenTheBrokerIsKilled(t *testing.T) {
	messagingtest.RunOutcomes(t, harness(messagingtest.Outage))
}

func TestContractWhenTheBrokerClosesConnections(t *testing.T) {
	messagingtest.Run(t, harness(messagingtest.DropConnections))
}

func TestOutcomesWhenTheBrokerClosesConnections(t *testing.T) {
	messagingtest.RunOutcomes(t, harness(messagingtest.DropConnections))
}
