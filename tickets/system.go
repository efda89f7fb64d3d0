package tickets

import (
	"time"

	"boxoffice/messaging"
)

// The services, as they appear in queue names, routing keys and app_id.
const (
	Booking  = "booking"
	Seats    = "seats"
	Payments = "payments"
)

// System returns who publishes and who consumes which event, with the waits
// between the attempts at a message.
func System(retryDelays []time.Duration) messaging.System {
	return messaging.System{
		Prefix:      "tickets",
		BareQueues:  true, // as the queues have been called from the beginning
		RetryDelays: retryDelays,
		Services: []messaging.Service{
			{Name: Booking, Routes: messaging.Routes{
				Publishes: []string{name[BookingCreated]()},
				Consumes:  []string{name[SeatRejected](), name[PaymentSucceeded](), name[PaymentFailed](), name[SeatReleased]()},
			}},
			{Name: Seats, Routes: messaging.Routes{
				Consumes:  []string{name[BookingCreated](), name[PaymentFailed]()},
				Publishes: []string{name[SeatReserved](), name[SeatRejected](), name[SeatReleased]()},
			}},
			{Name: Payments, Routes: messaging.Routes{
				Consumes:  []string{name[SeatReserved]()},
				Publishes: []string{name[PaymentSucceeded](), name[PaymentFailed]()},
			}},
		},
	}
}

// The exchanges of the system.
const (
	ExchangeEvents    = "tickets.events"
	ExchangeRetry     = "tickets.retry"
	ExchangeRedeliver = "tickets.redeliver"
	ExchangeDead      = "tickets.dead"
)

// Topology returns what the services need on the broker.
func Topology(retryDelays []time.Duration) messaging.Topology { return System(retryDelays).Topology() }

// Queue returns the name of the work queue of a service for an event.
func Queue(service, event string) string { return System(nil).Queue(service, event) }

// WaitQueue returns the name of the queue in which a service's failed messages
// wait out a delay.
func WaitQueue(service string, delay time.Duration) string {
	return System(nil).WaitQueue(service, delay)
}

// WithAnybody returns the system with one more service, which may publish every
// event: for experiments, and for tests that speak for the others.
func WithAnybody(name string, retryDelays []time.Duration) messaging.System {
	s := System(retryDelays)
	s.Services = append(s.Services, messaging.Service{Name: name, Routes: messaging.Routes{Publishes: s.Events()}})
	return s
}

func name[E messaging.Event]() string { return messaging.NameOf[E]() }
