package messagingtest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"boxoffice/messaging"
)

// Ability is something that a test can do to a broker from outside.
type Ability string

// The abilities that some clauses need.
const (
	DropConnections Ability = "drop connections"
	Outage          Ability = "outage"
	SmallFrames     Ability = "small frames"
)

// Harness is one kind of broker under test.
type Harness struct {
	// Fresh is an empty broker for one clause: a new server, or a new virtual
	// host. What it needs undone it leaves to t.Cleanup.
	Fresh func(t *testing.T) Env
	// Lacks says why this broker lacks an ability. Clauses that need it are
	// listed as not tested.
	Lacks map[Ability]string
	// Only, if set, leaves out all clauses but those that need it: for a second
	// way in which the same broker can fail.
	Only Ability
}

// Env is an empty broker.
type Env struct {
	// Connect is a new connection, which the suite closes.
	Connect func(t *testing.T, name string) messaging.Broker
	// DropConnections cuts every connection of the broker, as a failing network would.
	DropConnections func(t *testing.T)
	// Outage stops the broker, which keeps what it stored, until start is
	// called. The suite always calls start.
	Outage func(t *testing.T) (start func())
	// ConnectSmall is Connect for a connection whose frames, and so the headers
	// of a message, have room for 8 KiB.
	ConnectSmall func(t *testing.T, name string) messaging.Broker
}

// clause is one sentence of the contract.
type clause struct {
	name  string
	needs Ability // "": none
	check func(f *fixture)
}

// Run checks the whole contract of a driver.
func Run(t *testing.T, h Harness) {
	h.run(t, map[string][]clause{
		"routing":  routing(),
		"publish":  publishing(),
		"message":  messages(),
		"consume":  consuming(),
		"loss":     losses(),
		"parking":  parking(),
		"waiting":  waiting(),
		"observe":  observing(),
		"browse":   browsing(),
		"topology": topologies(),
		"outage":   outages(),
		"close":    closing(),
		"headers":  headers(),
		"ready":    readiness(),
	})
}

func (h Harness) run(t *testing.T, groups map[string][]clause) {
	t.Helper()
	var untested []string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			for _, c := range groups[group] {
				if h.Only != "" && c.needs != h.Only {
					continue
				}
				if why, lacks := h.Lacks[c.needs]; lacks {
					untested = append(untested, group+": "+c.name+" ("+why+")")
					continue
				}
				t.Run(c.name, func(t *testing.T) { c.check(h.newFixture(t)) })
			}
		})
	}
	if len(untested) > 0 {
		t.Logf("NOT TESTED on this broker:\n\t%s", strings.Join(untested, "\n\t"))
	}
}
