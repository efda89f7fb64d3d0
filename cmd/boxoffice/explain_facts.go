package main

import (
	"fmt"
	"strings"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/plain"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// facts are what is known of one booking.
type facts struct {
	booking     client.Booking
	reservation *serviceRow       // nil: none, if seats answered
	payment     *serviceRow       // nil: none, if payments answered
	silent      map[string]string // services of which nothing is known, and why
	parked      []messaging.DeadLetter
	unlooked    string // why nobody knows what is parked
	up          string // the running up whose broker was asked; "" if it was RabbitMQ
	trail       trail
	door        struct {
		Waiting, Stalled int
		Broker           string
	}
}

// serviceRow is what seats or payments know of the booking.
type serviceRow struct {
	Status  string
	Reason  string
	Charges int
}

func (r *serviceRow) is(status string) bool { return r != nil && r.Status == status }

// explain is a line for each thing that a person wants to know.
func (f *facts) explain(now time.Time) []string {
	b := f.booking
	lines := []string{
		fmt.Sprintf("booking   %s, seat %d, %s: %s, made %s ago%s", b.Customer, b.Seat, b.Amount, b.Status,
			now.Sub(b.CreatedAt).Round(time.Second), because(b.Reason)),
		"seats     " + f.seatsSays(),
		"payments  " + f.paymentsSays(),
		"trace     " + b.TraceID,
		"",
	}
	queues := f.waitsIn()
	if len(queues) == 0 {
		return append(lines, f.finished()...)
	}
	lines = append(lines, "It waits for "+strings.Join(queues, " and for ")+".")
	for _, queue := range queues {
		if text := f.retry(queue, now); text != "" {
			lines = append(lines, text)
		}
	}
	for _, l := range f.parked {
		lines = append(lines, fmt.Sprintf("A message is parked in %s, after attempt %d: %s",
			messaging.DeadQueue(l.Queue), l.Attempts, plain.Line(l.Reason)))
	}
	if f.unlooked != "" {
		lines = append(lines, "Whether a message of it is parked is not known: "+f.unlooked)
	}
	lines = append(lines, f.unclear(queues, now)...)
	return append(append(lines, ""), f.whatToDo(queues, now)...)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func (f *facts) seatsSays() string {
	switch r := f.reservation; {
	case f.silent[tickets.Seats] != "":
		return f.silent[tickets.Seats]
	case r == nil:
		return "knows nothing of it"
	case r.Status == "reserved":
		return "holds the seat for it"
	default:
		return r.Status + because(r.Reason)
	}
}

func (f *facts) paymentsSays() string {
	switch p := f.payment; {
	case f.silent[tickets.Payments] != "":
		return f.silent[tickets.Payments]
	case p == nil:
		return "knows nothing of it"
	default:
		return fmt.Sprintf("%s, charged %s%s", p.Status, verify.Times(p.Charges), because(p.Reason))
	}
}

// waitsIn is the queues whose events are to come next, as the rows have it;
// none if the booking is finished.
func (f *facts) waitsIn() []string {
	b, r, p := f.booking, f.reservation, f.payment
	switch {
	case b.Finished():
		return nil
	case f.silent[tickets.Seats] != "" || f.silent[tickets.Payments] != "":
		return []string{"an event that is not known, as a service does not answer, or was not asked"}
	case b.Status == "Cancelled" && r.is("released"):
		return []string{"booking.SeatReleased"}
	case b.Status == "Cancelled":
		return []string{"seats.PaymentFailed"}
	case r == nil:
		return []string{"seats.BookingCreated"}
	case r.is("rejected"):
		return []string{"booking.SeatRejected"}
	case r.is("released"):
		return []string{"booking.SeatReleased"}
	case p == nil:
		return []string{"payments.SeatReserved"}
	case p.is("succeeded"):
		return []string{"booking.PaymentSucceeded"}
	default:
		return []string{"booking.PaymentFailed", "seats.PaymentFailed"}
	}
}

// finished says that nothing is to come, or that the services disagree.
func (f *facts) finished() []string {
	b, r, p := f.booking, f.reservation, f.payment
	silent := len(f.silent) > 0
	charged := p != nil && p.Charges > 0
	sold := r.is("reserved") && p.is("succeeded") && p.Charges == 1
	switch {
	case silent:
		return []string{"It is finished. Whether the others agree is not known until they answer."}
	case b.Status == "Confirmed" && !sold, b.Status != "Confirmed" && (r.is("reserved") || charged):
		return []string{"The services contradict each other, which no event will mend.", "What to do: boxoffice verify names the invariant; a person must decide."}
	}
	known := r != nil // else seats has forgotten it, or never heard of it
	switch {
	case len(f.parked) > 0:
		return f.finishedParked(f.parked[0], known)
	case !known:
		return []string{
			"It is finished for booking, but seats knows nothing of it: an event of it may still be on its way.",
			"What to do: look again in a moment; boxoffice verify says whether it is broken then.",
		}
	}
	if f.unlooked != "" {
		return []string{"It is finished, and there is nothing to do. Whether a message of it is parked is not known: " + f.unlooked}
	}
	return []string{"It is finished: nothing more will happen, and there is nothing to do."}
}

// finishedParked is advice about a message that came too late. Where its booking
// is not known, it would begin anew.
func (f *facts) finishedParked(l messaging.DeadLetter, known bool) []string {
	state, advice := "It is finished", "redriven it would be answered as it was before, and change nothing; or remove it:"
	if !known {
		state, advice = "It is finished for booking, but seats knows nothing of it", "remove it, for redriven it may take a seat for nobody:"
	}
	return []string{
		fmt.Sprintf("%s. %s %s, after attempt %d: %s",
			state, stillParked(len(f.parked)), messaging.DeadQueue(l.Queue), l.Attempts, plain.Line(l.Reason)),
		"What to do: " + advice,
		fmt.Sprintf("  boxoffice dead drop %s --id %s%s", l.Queue, f.booking.ID, f.at()),
	}
}

func stillParked(messages int) string {
	if messages == 1 {
		return "A message of it is still parked in"
	}
	return fmt.Sprintf("%d messages of it are still parked, the first in", messages)
}

// at is the flag for a command about parked messages.
func (f *facts) at() string {
	if f.up == "" {
		return ""
	}
	return " --url " + f.up
}

// whatToDo is advice about a booking that waits.
func (f *facts) whatToDo(queues []string, now time.Time) []string {
	switch {
	case len(f.parked) > 0:
		l := f.parked[0]
		return []string{
			"What to do: fix the cause, then send the message back to the queue that failed:",
			fmt.Sprintf("  boxoffice dead redrive %s --id %s%s", l.Queue, f.booking.ID, f.at()),
		}
	case len(f.silent) > 0:
		return []string{"What to do: start the service that does not answer (its queues keep its events), or say where it is (--seats-url, --payments-url)."}
	case f.door.Broker != "ok" && f.door.Broker != "":
		return []string{
			"The broker cannot be reached: " + strings.TrimPrefix(f.door.Broker, "the broker is unreachable: "),
			"What to do: start it; everything goes on by itself.",
		}
	case queues[0] == "seats.BookingCreated" && f.door.Waiting > 0:
		return []string{
			fmt.Sprintf("Bookings wait behind the door (%d), perhaps this one too: it starts when others have finished.", f.door.Waiting),
			"What to do: nothing.",
		}
	case f.waits(queues, now):
		return []string{"What to do: nothing; it is tried again by itself, and parked after the last attempt."}
	}
	perhapsWaits, nothing := "", "nothing for now. If its message"
	if f.trail.unknown != "" {
		perhapsWaits, nothing = "or waits for another attempt, ", "nothing for now. A copy that waits is tried again by itself; if the message"
	}
	var lines []string
	atBank := queues[0] == "payments.SeatReserved"
	if atBank {
		lines = []string{"Either its message is on its way, " + perhapsWaits + "or the bank has not answered (it is slow, or its gate is closed: POST /lab/gate/open on payments opens it), or the message was lost."}
	}
	switch {
	case f.door.Stalled > 0:
		return append(lines,
			fmt.Sprintf("Bookings are stalled (%d), perhaps this one too: they were published again as often as REDRIVE_LIMIT allows.", f.door.Stalled),
			"What to do: find what keeps its events (boxoffice trace, boxoffice dead list), mend it, and start booking anew: it publishes its unfinished bookings again.")
	case atBank:
		return append(lines, "What to do: nothing for now; if it was lost, the booking is published again after SAGA_DEADLINE (60 s by default).")
	}
	return []string{"What to do: " + nothing + " was lost, the booking is published again after SAGA_DEADLINE (60 s by default), and goes on from where it stands."}
}
