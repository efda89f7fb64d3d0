package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"boxoffice/internal/lab"
)

// Experiment is one scene.
type Experiment struct {
	Name   string
	Lesson string // what it teaches, in one line
	// Unsafe are the safeties without which it fails.
	Unsafe []lab.Unsafe
	// Queues are worth a look while it runs.
	Queues []string
	// Settings are those that the services need, if we start them.
	Settings Settings
	// Broker says that it publishes events itself, as a stranger would.
	Broker bool
	// Run plays the scene. Its error says why it could not go on; what did not
	// happen as it should is told by Stage.Expect.
	Run func(context.Context, *Stage) error
}

// Settings are those of the services that differ from the defaults; 0: they do not.
type Settings struct {
	Active, Waiting int // the budgets of the door
	StallAfter      time.Duration
}

// All is every experiment, the simplest first.
func All() []Experiment {
	return []Experiment{
		{Name: "compensation", Lesson: "a declined card gives the seat back, and someone else gets it", Queues: []string{"seats.PaymentFailed"}, Run: compensation},
		{Name: "double-booking", Lesson: "50 clients want one seat at once: one gets it, because the database says so", Run: doubleBooking},
		{
			Name: "redelivery", Lesson: "a crash between commit and acknowledgement: the event comes again, and nothing happens twice",
			Unsafe: []lab.Unsafe{lab.AckFirst}, Queues: []string{"seats.BookingCreated", "payments.SeatReserved"}, Run: redelivery,
		},
		{Name: "lost-confirm", Lesson: "a crash after the publish: the outcome comes twice, and changes nothing", Run: lostConfirm},
		{Name: "duplicate-charge", Lesson: "two payment events at the same time: the bank charges once", Queues: []string{"payments.SeatReserved"}, Run: duplicateCharge},
		{
			Name: "retry-backoff", Lesson: "a failing event waits outside its queue, and holds up nobody",
			Unsafe: []lab.Unsafe{lab.RequeueNow}, Queues: []string{"seats.wait.1000ms", "seats.wait.5000ms"}, Run: retryBackoff,
		},
		{Name: "poison", Lesson: "what cannot be handled is parked with its reason, and redriven once that is fixed", Queues: []string{"seats.BookingCreated.dead"}, Run: poison},
		{
			Name: "late-compensation", Lesson: "the compensation overtakes the action: the seat is not reserved afterwards",
			Unsafe: []lab.Unsafe{lab.NoTombstone}, Queues: []string{"seats.BookingCreated", "seats.PaymentFailed"}, Broker: true, Run: lateCompensation,
		},
		{
			Name: "late-duplicate", Lesson: "a duplicate that comes after the release does not reserve again",
			Unsafe: []lab.Unsafe{lab.NoTombstone}, Broker: true, Run: lateDuplicate,
		},
		{
			Name: "wrong-seat", Lesson: "a repeated failure names a seat that is someone else's now: only the owner's is released",
			Unsafe: []lab.Unsafe{lab.NoOwnerCheck}, Broker: true, Run: wrongSeat,
		},
		{
			Name: "door", Lesson: "the door takes exactly what it has room for: 202, then 429, then 503",
			Settings: Settings{Active: 2, Waiting: 3, StallAfter: 3 * time.Second}, Run: door,
		},
		{Name: "drain", Lesson: "a draining door takes nobody new, and finishes whom it has", Run: drain},
		{
			Name: "broker-outage", Lesson: "without a broker bookings are still taken: the row is the outbox",
			Unsafe: []lab.Unsafe{lab.NoConfirm}, Run: brokerOutage,
		},
		{Name: "bank-outage", Lesson: "a bank that does not answer holds the payment: no attempt is spent, no charge made twice", Queues: []string{"payments.SeatReserved"}, Run: bankOutage},
	}
}

// Find is the experiments of these names, in this order; "all" is every one.
func Find(names []string) ([]Experiment, error) {
	all := All()
	var found []Experiment
	for _, name := range names {
		if name == "all" {
			found = append(found, all...)
			continue
		}
		i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no experiment %q; boxoffice experiment list shows them", name)
		}
		found = append(found, all[i])
	}
	return found, nil
}
