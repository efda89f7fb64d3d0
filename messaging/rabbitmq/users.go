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

// Users are the users in [Definitions]. There is no guest.
func Users() []string {
	return []string{messaging.Booking, messaging.Seats, messaging.Payments, Observer, Admin}
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

// rightsOf is what a user may do with a topology.
//
// No service may declare queues, not even one of its own to observe with: a
// queue may name any exchange that its owner writes to as its dead-letter
// exchange, with any key, and the broker checks no topic permission when it
// dead-letters. Through such a queue a service could send what it must not.
// So observing is for a user that can write to no exchange.
func rightsOf(user string, t messaging.Topology) rights {
	switch user {
	case Admin:
		return rights{tags: []string{"administrator"}, configure: everything, write: everything, read: everything}
	case Observer:
		const own = `amq\.gen-.*` // queues that the broker named
		events := regexp.QuoteMeta(messaging.ExchangeEvents)
		r := rights{tags: []string{}, configure: anyOf(own), write: anyOf(own), read: anyOf(own, events)}
		for _, exchange := range t.Exchanges {
			k := keyRights{exchange, none, none}
			if exchange == messaging.ExchangeEvents {
				k.read = everything
			}
			r.keys = append(r.keys, k)
		}
		return r
	}
	events := eventsFor(user, t)
	queues := make([]string, len(events))
	for i, e := range events {
		queues[i] = messaging.QueueName(user, e)
	}
	keys := map[string]string{
		messaging.ExchangeEvents: exactly(published(user)...),
		messaging.ExchangeRetry:  `^[0-9]+ms\.` + user + `\.(` + strings.Join(events, "|") + `)$`,
		messaging.ExchangeDead:   exactly(queues...),
	}
	r := rights{tags: []string{}, configure: none, read: exactly(queues...)}
	var writes []string
	for _, exchange := range t.Exchanges {
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
		writes = append(writes, messaging.DeadQueueName(q))
	}
	r.write = anyOf(quoted(writes), user+`\.wait\.[0-9]+ms`)
	return r
}

// eventsFor are the events that a service consumes.
func eventsFor(service string, t messaging.Topology) []string {
	var events []string
	for _, b := range t.Bindings {
		if b.Exchange == messaging.ExchangeEvents && b.Queue == messaging.QueueName(service, b.Key) {
			events = append(events, b.Key)
		}
	}
	slices.Sort(events)
	return events
}

// published are the events that a service publishes.
func published(service string) []string {
	switch service {
	case messaging.Booking:
		return []string{"BookingCreated"}
	case messaging.Seats:
		return []string{"SeatReserved", "SeatRejected", "SeatReleased"}
	case messaging.Payments:
		return []string{"PaymentSucceeded", "PaymentFailed"}
	}
	return nil
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
