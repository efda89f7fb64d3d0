package messaging

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// System is a set of services that agree by events, and the one source of what
// they need: the exchanges, queues and bindings, what a [Publisher] publishes
// and a [Consumer] consumes, and on RabbitMQ what each service may do.
type System struct {
	// Prefix begins the names of exchanges and queues, so that several systems
	// can share a broker: lower-case letters, digits and hyphens.
	Prefix string
	// BareQueues leaves the prefix out of the queues' names.
	BareQueues bool
	Services   []Service
	// RetryDelays are the waits before the second attempt, the third and so on;
	// after the attempt that follows the last one a message is parked.
	RetryDelays []time.Duration
	// Carry names headers of the system's own that travel on, from a delivery to
	// every event, retry and redrive that follows from it. See [WithHeader].
	Carry []string
}

// Service is one service of a system: its name and its routes.
type Service struct {
	Name string
	Routes
}

// Routes are the events that a service consumes and publishes, by name: see
// [NameOf].
type Routes struct {
	Consumes  []string
	Publishes []string
	// Unheard are those of Publishes that nobody has to consume. Every other
	// event must have a consumer, for publishing it would fail for ever.
	Unheard []string
}

// Validate says what is wrong with the system; nil if nothing is.
func (s System) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	name := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	event := regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	if !name.MatchString(s.Prefix) {
		fail("the prefix %q is not made of lower-case letters, digits and hyphens", s.Prefix)
	}
	names, published, consumed, unheard := map[string]bool{}, map[string]string{}, map[string]string{}, map[string]bool{}
	for _, v := range s.Services {
		if !name.MatchString(v.Name) {
			fail("the service's name %q is not made of lower-case letters, digits and hyphens", v.Name)
		}
		if names[v.Name] {
			fail("two services are called %s", v.Name)
		}
		names[v.Name] = true
		for _, e := range slices.Concat(v.Consumes, v.Publishes) {
			if !event.MatchString(e) {
				fail("%s: %q is not the name of an event", v.Name, e)
			}
		}
		for _, e := range v.Unheard {
			unheard[e] = true
			if !slices.Contains(v.Publishes, e) {
				fail("%s is unheard, but %s does not publish it", e, v.Name)
			}
		}
		for _, list := range [][]string{v.Consumes, v.Publishes} {
			if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) < len(list) {
				fail("%s has an event twice in %v", v.Name, list)
			}
		}
		for _, e := range v.Consumes {
			consumed[e] = v.Name
		}
		for _, e := range v.Publishes {
			published[e] = v.Name
		}
	}
	for _, v := range s.Services { // in the order of the services
		for _, e := range v.Publishes {
			if _, ok := consumed[e]; !ok && !unheard[e] {
				fail("%s publishes %s, which nobody consumes; if that is meant, name it in Unheard", v.Name, e)
			}
		}
		for _, e := range v.Consumes {
			if _, ok := published[e]; !ok {
				fail("%s consumes %s, which nobody publishes", v.Name, e)
			}
		}
	}
	for _, d := range s.RetryDelays {
		if d < time.Millisecond || d%time.Millisecond != 0 {
			fail("the retry delay %s is not a whole number of milliseconds", d)
		}
	}
	for _, h := range s.Carry {
		if reservedHeader(h) {
			fail("the header %q cannot be carried: it has a meaning here", h)
		}
	}
	return errors.Join(errs...)
}

// routesOf returns the routes of a service, and an error if it is none of s.
func (s System) routesOf(service string) (Routes, error) {
	for _, v := range s.Services {
		if v.Name == service {
			return v.Routes, nil
		}
	}
	return Routes{}, fmt.Errorf("%s has no routes in the system %s", service, s.Prefix)
}

// Events returns the names of all events, sorted.
func (s System) Events() []string {
	var all []string
	for _, v := range s.Services {
		all = append(all, slices.Concat(v.Consumes, v.Publishes)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// WorkQueues returns the names of the queues that the services consume, which
// are those whose messages may be parked: for each event, in the order of the
// services that publish it, those of its consumers.
func (s System) WorkQueues() []string {
	var queues []string
	for _, publisher := range s.Services {
		for _, event := range publisher.Publishes {
			for _, v := range s.Services {
				if queue := s.Queue(v.Name, event); slices.Contains(v.Consumes, event) && !slices.Contains(queues, queue) {
					queues = append(queues, queue)
				}
			}
		}
	}
	return queues
}

// EventsExchange returns the exchange of the events. The key is the event's name.
func (s System) EventsExchange() string { return s.Prefix + ".events" }

// RetryExchange returns the exchange of copies that wait for another attempt.
// See [System.RetryKey].
func (s System) RetryExchange() string { return s.Prefix + ".retry" }

// RedeliverExchange returns the exchange that takes a message back to the one
// queue that failed. The key is that of a retry, or [RedriveKey].
func (s System) RedeliverExchange() string { return s.Prefix + ".redeliver" }

// DeadExchange returns the exchange of parked messages. The key is the work
// queue's name.
func (s System) DeadExchange() string { return s.Prefix + ".dead" }

// Queue returns the name of the work queue of a service for an event.
func (s System) Queue(service, event string) string { return s.queuePrefix() + service + "." + event }

// WaitQueue returns the name of the queue in which a service's failed messages
// wait out a delay.
func (s System) WaitQueue(service string, delay time.Duration) string {
	return s.queuePrefix() + service + ".wait." + delayName(delay)
}

func (s System) queuePrefix() string {
	if s.BareQueues {
		return ""
	}
	return s.Prefix + "."
}

// DeadQueue returns the name of the queue in which a work queue's messages are
// parked.
func DeadQueue(workQueue string) string { return workQueue + ".dead" }

// RetryKey routes a copy to its wait queue, and from there back to the queue
// that failed.
func RetryKey(delay time.Duration, workQueue string) string {
	return delayName(delay) + "." + workQueue
}

// RedriveKey routes a parked message back to the queue that failed, and to no other.
func RedriveKey(workQueue string) string { return "redrive." + workQueue }

func delayName(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
