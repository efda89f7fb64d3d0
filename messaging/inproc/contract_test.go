package inproc_test

import (
	"testing"

	"go.uber.org/goleak"

	"boxoffice/messaging/inproc/inproctest"
	"boxoffice/messaging/messagingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) { messagingtest.Run(t, inproctest.Harness()) }

func TestOutcomes(t *testing.T) { messagingtest.RunOutcomes(t, inproctest.Harness()) }

func TestSystems(t *testing.T) {
	for name, s := range messagingtest.Systems() {
		t.Run(name, func(t *testing.T) { messagingtest.RunSystem(t, inproctest.Harness(), s) })
	}
}
