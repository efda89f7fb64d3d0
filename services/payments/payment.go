package payments

import (
	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Status is what became of a payment. Both are final.
type Status string

// The states of a payment.
const (
	Succeeded Status = "succeeded" // the bank charged the amount
	Failed    Status = "failed"    // it charged nothing
)

// reasonDeclined is why the bank charges nothing.
const reasonDeclined = "insufficient funds"

// Payment is what a booking paid for its seat, or that it could not.
type Payment struct {
	BookingID uuid.UUID
	Seat      int
	Amount    tickets.Amount
	Status    Status
	Reason    string // why it Failed
}

// payment is what the bank's answer to e makes of it. The amount is the bank's:
// that is what was charged, whatever a later event says.
func payment(e tickets.SeatReserved, a Entry) Payment {
	p := Payment{BookingID: e.BookingID, Seat: e.Seat, Amount: a.Amount, Status: Succeeded}
	if a.Verdict == Declined {
		p.Status, p.Reason = Failed, reasonDeclined
	}
	return p
}

// outcome is the event that tells what became of the payment, the same each time.
func (p Payment) outcome() messaging.Event {
	if p.Status == Succeeded {
		return tickets.PaymentSucceeded{BookingID: p.BookingID}
	}
	return tickets.PaymentFailed{BookingID: p.BookingID, Seat: p.Seat, Reason: p.Reason}
}

// agrees reports whether e is about the same payment as the row.
func (p Payment) agrees(e tickets.SeatReserved) bool {
	return p.Seat == e.Seat && p.Amount == e.Amount
}
