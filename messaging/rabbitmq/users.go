package rabbitmq

import (
	"regexp"
	"slices"
	"strings"

	"boxoffice/messaging"
)

// The users of the broker beside the services, which are users of their own name.
const (
	Observer = "observer" // for live views: sees every event, and sends none
	Admin    = "admin"    // for people and their tools: may do everything
)

// Users returns the names of the users in [Definitions]. There is no guest.
func Users(s messaging.System) []string {
	var names []string
	for _, v := range s.Services {
		names = append(names, UserOf(s, v.Name))
	}
	return append(names, Observer, Admin)
}

// UserOf returns the name of the user as whom a service connects.
func UserOf(s messaging.System, service string) string {
	if s.BareQueues {
		return service
	}
	return s.Prefix + "-" + service
}

// rights are what a user may do, as regular expressions over names; and over
// routing keys, for each exchange. A user without an entry for an exchange
// could use any key, so all but the admin have one for each.
type rights struct {
	tags                   []string
	configure, write, read string
	keys                   []keyRights
}

type keyRights struct{ exchange, write, read string }

const (
	none       = "^$"
	everything = ".*"
)

// rightsOf returns what a user may do with a system's topology.
//
// No service may declare queues, not even one of its own to observe with: a
// queue may name any exchange that its owner writes to as its dead-letter
// exchange, with any key, and the broker checks no topic permission when it
// dead-letters. Through such a queue a service could send what it must not.
// So observing is for a user that can write to no exchange.
func rightsOf(user string, s messaging.System) rights {
	switch user {
	case Admin:
		return rights{tags: []string{"administrator"}, configure: everything, write: everything, read: everything}
	case Observer:
		return rightsOfObserver(s)
	}
	for _, v := range s.Services {
		if UserOf(s, v.Name) == user {
			return rightsOfService(v, s)
		}
	}
	return rights{tags: []string{}, configure: none, write: none, read: none}
}

func rightsOfObserver(s messaging.System) rights {
	const own = `amq\.gen-.*` // queues that the broker named
	events := regexp.QuoteMeta(s.EventsExchange())
	r := rights{tags: []string{}, configure: anyOf(own), write: anyOf(own), read: anyOf(own, events)}
	for _, exchange := range s.Topology().Exchanges {
		k := keyRights{exchange, none, none}
		if exchange == s.EventsExchange() {
			k.read = everything
		}
		r.keys = append(r.keys, k)
	}
	return r
}

func rightsOfService(v messaging.Service, s messaging.System) rights {
	queues := make([]string, len(v.Consumes))
	for i, e := range slices.Sorted(slices.Values(v.Consumes)) {
		queues[i] = s.Queue(v.Name, e)
	}
	keys := map[string]string{}
	if len(v.Publishes) > 0 {
		keys[s.EventsExchange()] = exactly(v.Publishes...)
	}
	if len(queues) > 0 {
		keys[s.RetryExchange()] = `^[0-9]+ms\.(` + quoted(queues) + `)$`
		keys[s.DeadExchange()] = exactly(queues...)
	}
	r := rights{tags: []string{}, configure: none, read: exactly(queues...)}
	var writes []string
	for _, exchange := range s.Topology().Exchanges {
		key := none
		if k, ok := keys[exchange]; ok {
			writes, key = append(writes, exchange), k
		}
		r.keys = append(r.keys, keyRights{exchange, key, none})
	}
	// To write to a queue is to bind it, for which it takes an exchange that one
	// may read, and there is none. But without any right the service could not
	// check that its queues exist, nor notice that one for its delays does not.
	for _, q := range queues {
		writes = append(writes, messaging.DeadQueue(q))
	}
	patterns := []string{quoted(writes)}
	if len(queues) > 0 {
		patterns = append(patterns, strings.TrimSuffix(regexp.QuoteMeta(s.WaitQueue(v.Name, 0)), "0ms")+`[0-9]+ms`)
	}
	r.write = anyOf(patterns...)
	return r
}

// exactly is a pattern for these names, and nothing else.
func exactly(names ...string) string { return anyOf(quoted(names)) }

func anyOf(patterns ...string) string { return "^(" + strings.Join(patterns, "|") + ")$" }

func quoted(names []string) string {
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(patterns, "|")
}
