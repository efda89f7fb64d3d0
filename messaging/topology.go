package messaging

import (
	"fmt"
	"slices"
	"time"
)

// The services, as they appear in queue names, routing keys and app_id.
const (
	Booking  = "booking"
	Seats    = "seats"
	Payments = "payments"
)

// The exchanges: durable and of type topic, so that topic permissions can bind
// every user of the broker to its own keys.
const (
	ExchangeEvents    = "tickets.events"    // key: the event's name
	ExchangeRetry     = "tickets.retry"     // key: <delay>.<service>.<Event>
	ExchangeRedeliver = "tickets.redeliver" // key: <delay>.<service>.<Event>, or redrive.<service>.<Event>
	ExchangeDead      = "tickets.dead"      // key: <service>.<Event>
)

const (
	// WorkDeliveryLimit is how often the broker delivers a message of a work
	// queue before it parks it by itself. Only lost channels count towards it.
	WorkDeliveryLimit = 20
	// DeadDeliveryLimit is the same for parked messages: looking at one counts
	// as a delivery, and none may be lost by looking (-1 loses it on 3.10).
	DeadDeliveryLimit = 1_000_000_000
)

// Topology is everything that the services need on the broker. Every service
// declares it whole, so that no order of starting can lose an event.
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

type route struct{ service, event string }

func routes() []route {
	return []route{
		{Seats, "BookingCreated"},
		{Payments, "SeatReserved"},
		{Booking, "SeatRejected"},
		{Booking, "PaymentSucceeded"},
		{Booking, "PaymentFailed"},
		{Seats, "PaymentFailed"},
		{Booking, "SeatReleased"},
	}
}

// NewTopology is the topology of the three services with these retry delays.
func NewTopology(retryDelays []time.Duration) Topology {
	t := Topology{Exchanges: []string{ExchangeEvents, ExchangeRetry, ExchangeRedeliver, ExchangeDead}}
	for _, r := range routes() {
		work := QueueName(r.service, r.event)
		dead := DeadQueueName(work)
		t.Queues = append(t.Queues,
			Queue{Name: work, DeadLetterExchange: ExchangeDead, DeadLetterKey: work, DeliveryLimit: WorkDeliveryLimit},
			Queue{Name: dead, DeliveryLimit: DeadDeliveryLimit})
		t.Bindings = append(t.Bindings,
			Binding{ExchangeEvents, r.event, work},
			Binding{ExchangeRedeliver, "*." + work, work},
			Binding{ExchangeDead, work, dead})
	}
	delays := slices.Compact(slices.Sorted(slices.Values(retryDelays))) // equal delays share a queue
	for _, service := range []string{Booking, Seats, Payments} {
		for _, d := range delays {
			wait := WaitQueueName(service, d)
			t.Queues = append(t.Queues, Queue{Name: wait, TTL: d, DeadLetterExchange: ExchangeRedeliver})
			for _, r := range routes() { // each by name: what has no way back must not get in
				if r.service == service {
					t.Bindings = append(t.Bindings, Binding{ExchangeRetry, RetryKey(d, QueueName(service, r.event)), wait})
				}
			}
		}
	}
	return t
}

// QueueName is the work queue of one service for one event.
func QueueName(service, event string) string { return service + "." + event }

// DeadQueueName is where the messages of a work queue are parked.
func DeadQueueName(workQueue string) string { return workQueue + ".dead" }

// WaitQueueName is where the failed messages of a service wait out a delay.
func WaitQueueName(service string, delay time.Duration) string {
	return service + ".wait." + delayName(delay)
}

// RetryKey routes a copy to its wait queue, and from there back to the queue that failed.
func RetryKey(delay time.Duration, workQueue string) string {
	return delayName(delay) + "." + workQueue
}

// RedriveKey routes a parked message back to the queue that failed, and to no other.
func RedriveKey(workQueue string) string { return "redrive." + workQueue }

func delayName(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
