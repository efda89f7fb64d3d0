package experiment

import (
	"time"

	"boxoffice/internal/lab"
)

// All is every experiment, the simplest first.
func All() []Experiment {
	return []Experiment{
		{
			Name: "compensation", Lesson: "a declined card gives the seat back, and someone else gets it",
			Queues: []string{"seats.PaymentFailed"},
			Trace:  "PaymentFailed goes to booking and to seats, and seats answers SeatReleased",
			Run:    compensation,
		},
		{
			Name: "double-booking", Lesson: "50 clients want one seat at once: one gets it, because the database says so",
			Queues: []string{"seats.BookingCreated"},
			Trace:  "the winner's goes on to payments; the others end with SeatRejected",
			Run:    doubleBooking,
		},
		{
			Name: "redelivery", Lesson: "a crash between commit and acknowledgement: the event comes again, and nothing happens twice",
			Unsafe: []lab.Unsafe{lab.AckFirst},
			Queues: []string{"seats.BookingCreated", "payments.SeatReserved", "booking.PaymentSucceeded"},
			Trace:  "each process span is there twice: the first lost its delivery, the second repeated the outcome",
			Run:    redelivery,
		},
		{
			Name: "lost-confirm", Lesson: "a crash after the publish: the outcome comes twice, and changes nothing",
			Queues: []string{"seats.BookingCreated", "payments.SeatReserved", "booking.PaymentSucceeded"},
			Trace:  "each publish of an outcome is there more than once, and each repeated event got the same answer",
			Run:    lostConfirm,
		},
		{
			Name: "duplicate-charge", Lesson: "two payment events at the same time: the bank charges once",
			Queues: []string{"payments.SeatReserved"},
			Trace:  "two process spans of payments.SeatReserved side by side, both with PaymentSucceeded",
			Run:    duplicateCharge,
		},
		{
			Name: "retry-backoff", Lesson: "a failing event waits outside its queue, and holds up nobody",
			Unsafe: []lab.Unsafe{lab.RequeueNow},
			Trace:  "olena's has a publish to tickets.retry for each attempt that failed",
			Run:    retryBackoff,
		},
		{
			Name: "poison", Lesson: "what cannot be handled is parked with its reason, and redriven once that is fixed",
			Queues: []string{"seats.BookingCreated.dead"},
			Trace:  "it goes on behind the publish to tickets.dead: the redriven message is the same saga",
			Run:    poison,
		},
		{
			Name: "late-compensation", Lesson: "the compensation overtakes the action: the seat is not reserved afterwards",
			Unsafe: []lab.Unsafe{lab.NoTombstone}, Queues: []string{"seats.BookingCreated", "seats.PaymentFailed"},
			Trace:  "seats.BookingCreated ends after seats.PaymentFailed, and with SeatReleased, too",
			Broker: true, Run: lateCompensation,
		},
		{
			Name: "late-duplicate", Lesson: "a duplicate that comes after the release does not reserve again",
			Unsafe: []lab.Unsafe{lab.NoTombstone}, Queues: []string{"seats.BookingCreated"},
			Trace:  "ivan's has seats.BookingCreated twice: SeatReserved first, SeatReleased the second time",
			Broker: true, Run: lateDuplicate,
		},
		{
			Name: "wrong-seat", Lesson: "a repeated failure names a seat that is someone else's now: only the owner's is released",
			Unsafe: []lab.Unsafe{lab.NoOwnerCheck}, Queues: []string{"seats.PaymentFailed"},
			Trace:  "ivan's has seats.PaymentFailed twice, and olena's ends with SeatRejected",
			Broker: true, Run: wrongSeat,
		},
		{
			Name: "door", Lesson: "the door takes exactly what it has room for: 202, then 429, then 503",
			Queues:   []string{"seats.BookingCreated", "payments.SeatReserved"},
			Trace:    "an active booking's begins at once; a waiting one's has a gap before its first publish",
			Settings: Settings{Active: 2, Waiting: 3, StallAfter: 3 * time.Second}, Run: door,
		},
		{
			Name: "drain", Lesson: "a draining door takes nobody new, and finishes whom it has",
			Queues: []string{"payments.SeatReserved"},
			Trace:  "olena's goes on while the door is closed; maria's first try left none",
			Run:    drain,
		},
		{
			Name: "broker-outage", Lesson: "without a broker bookings are still taken: the row is the outbox",
			Unsafe: []lab.Unsafe{lab.NoConfirm}, Queues: []string{"seats.BookingCreated", "payments.SeatReserved"},
			Trace: "maria's first publish lasts as long as the outage; olena's payment is processed again after it",
			Run:   brokerOutage,
		},
		{
			Name: "bank-outage", Lesson: "a bank that fails, or is slow, holds the payment: no attempt is spent, no charge made twice",
			Queues: []string{"payments.SeatReserved"},
			Trace:  "one long process span of payments.SeatReserved in each, and no publish to tickets.retry",
			Run:    bankOutage,
		},
	}
}
