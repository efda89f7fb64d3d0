package messaging

import (
	"slices"
	"time"
)

const (
	// WorkDeliveryLimit is how often the broker delivers a message of a work
	// queue before it parks it by itself. Only lost channels count towards it.
	WorkDeliveryLimit = 20
	// DeadDeliveryLimit is the same for parked messages: looking at one counts
	// as a delivery, and none may be lost by looking (-1 loses it on 3.10).
	DeadDeliveryLimit = 1_000_000_000
)

// Topology is everything that the services of a system need on the broker. Every
// service declares it whole, so that no order of starting can lose an event. The
// exchanges are of type topic, so that topic permissions can bind every user of
// the broker to its own keys.
type Topology struct {
	Exchanges []string // durable topic exchanges
	Queues    []Queue
	Bindings  []Binding
}

// Queue is a durable quorum queue that rejects publishes when it overflows.
type Queue struct {
	Name string
	// TTL is how long a message waits before it is dead-lettered; 0: for ever.
	TTL time.Duration
	// DeadLetterExchange, if set, gets expired and over-delivered messages, at
	// least once, with DeadLetterKey or else the key they came with.
	DeadLetterExchange, DeadLetterKey string
	// DeliveryLimit is how often one message may be delivered; 0: as the broker likes.
	DeliveryLimit int
}

// Binding routes the messages of an exchange whose key matches to a queue.
type Binding struct{ Exchange, Key, Queue string }

// Topology returns what the system needs on the broker.
func (s System) Topology() Topology {
	t := Topology{Exchanges: []string{s.EventsExchange(), s.RetryExchange(), s.RedeliverExchange(), s.DeadExchange()}}
	for _, v := range s.Services {
		for _, event := range v.Consumes {
			work := s.Queue(v.Name, event)
			dead := DeadQueue(work)
			t.Queues = append(t.Queues,
				Queue{Name: work, DeadLetterExchange: s.DeadExchange(), DeadLetterKey: work, DeliveryLimit: WorkDeliveryLimit},
				Queue{Name: dead, DeliveryLimit: DeadDeliveryLimit})
			t.Bindings = append(t.Bindings,
				Binding{s.EventsExchange(), event, work},
				Binding{s.RedeliverExchange(), "*." + work, work},
				Binding{s.DeadExchange(), work, dead})
		}
	}
	delays := slices.Compact(slices.Sorted(slices.Values(s.RetryDelays))) // equal delays share a queue
	for _, v := range s.Services {
		if len(v.Consumes) == 0 {
			continue // nothing of it can fail
		}
		for _, d := range delays {
			wait := s.WaitQueue(v.Name, d)
			t.Queues = append(t.Queues, Queue{Name: wait, TTL: d, DeadLetterExchange: s.RedeliverExchange()})
			for _, event := range v.Consumes { // each by name: what has no way back must not get in
				t.Bindings = append(t.Bindings, Binding{s.RetryExchange(), RetryKey(d, s.Queue(v.Name, event)), wait})
			}
		}
	}
	return t
}
