package rabbitmq_test

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
	"boxoffice/tickets"
)

func system() messaging.System {
	return tickets.System([]time.Duration{time.Second, 5 * time.Second, 30 * time.Second})
}

func TestTheTopologyDoesWhatTheRoutesSay(t *testing.T) {
	messagingtest.RunSystem(t, rabbitmqtest.Harness(server), system())
}

func TestServicesMayDoTheirPart(t *testing.T) {
	f := newFixture(t)
	rabbitmqtest.ServicesMayDoTheirPart(f.Fixture, system(), f.Define(system()))
}

// target is the broker to attack: the one that BOXOFFICE_TEST_BROKER names as
// amqp://HOST:PORT/, with the passwords of its users as `boxoffice definitions`
// takes them, or else one of our own.
func target(t *testing.T) (as func(user string) string) {
	t.Helper()
	if url := os.Getenv("BOXOFFICE_TEST_BROKER"); url != "" {
		return func(user string) string {
			return rabbitmqtest.AsUser(t, url, user, cmp.Or(os.Getenv(strings.ToUpper(user)+"_BROKER_PASSWORD"), user+"-lab"))
		}
	}
	return newFixture(t).Define(system())
}

func TestServicesMayDoNothingElse(t *testing.T) {
	rabbitmqtest.ServicesMayDoNothingElse(t, system(), target(t))
}

func TestSecondKeysAreChecked(t *testing.T) {
	rabbitmqtest.SecondKeysAreChecked(t, system(), target(t))
}

func TestObserverMayOnlyLook(t *testing.T) {
	rabbitmqtest.ObserverMayOnlyLook(t, system(), target(t))
}
