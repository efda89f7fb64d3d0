package seats

import (
	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Status is where a reservation stands.
type Status string

// The states of a reservation. Rejected and Released are final.
const (
	Reserved Status = "reserved" // the booking holds the seat
	Rejected Status = "rejected" // it never got it
	Released Status = "released" // it no longer holds it, and never will again
)

// reasonRejected is why a booking does not get a seat.
const reasonRejected = "seat is taken or does not exist"

// Reservation is one booking's claim to one seat, and what became of it.
type Reservation struct {
	BookingID uuid.UUID
	Seat      int
	// Amount is 0 if the release overtook the reservation, which alone knows it.
	Amount tickets.Amount
	Status Status
	Reason string // why it is Rejected or Released
}

// claim is the reservation that a booking asks for.
func claim(e tickets.BookingCreated) Reservation {
	return Reservation{BookingID: e.BookingID, Seat: e.Seat, Amount: e.Amount, Status: Reserved}
}

// tombstone is the reservation that a failed payment leaves if there is none:
// the BookingCreated that is still to come must not reserve.
func tombstone(e tickets.PaymentFailed) Reservation {
	return Reservation{BookingID: e.BookingID, Seat: e.Seat, Status: Released, Reason: e.Reason}
}

// rejected is the claim r, turned down.
func (r Reservation) rejected() Reservation {
	r.Status, r.Reason = Rejected, reasonRejected
	return r
}

// outcome is the event that tells what became of the reservation. It is the
// same each time, whichever event asks.
func (r Reservation) outcome() messaging.Event {
	switch r.Status {
	case Reserved:
		return tickets.SeatReserved{BookingID: r.BookingID, Seat: r.Seat, Amount: r.Amount}
	case Released:
		return tickets.SeatReleased{BookingID: r.BookingID, Seat: r.Seat, Reason: r.Reason}
	default:
		return tickets.SeatRejected{BookingID: r.BookingID, Seat: r.Seat, Reason: r.Reason}
	}
}

// agrees reports whether an event that names this seat and amount is about the
// same claim as the row.
func (r Reservation) agrees(seat int, amount tickets.Amount) bool {
	return r.Seat == seat && (r.Amount == amount || !r.Amount.IsPositive())
}
