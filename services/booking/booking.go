package booking

import (
	"time"

	"github.com/google/uuid"

	"boxoffice/tickets"
)

// Status is where a booking stands.
type Status string

// The states of a booking: Pending until one of the others is its outcome.
const (
	Pending   Status = "Pending"
	Confirmed Status = "Confirmed"
	Rejected  Status = "Rejected"
	Cancelled Status = "Cancelled"
)

// Booking is one customer's wish for one seat, and what became of it.
type Booking struct {
	ID           uuid.UUID
	Seat         int
	Customer     string
	Amount       tickets.Amount
	Status       Status
	Reason       string // why it is Rejected or Cancelled
	SeatReleased bool   // a Cancelled booking is finished once its seat is free again
	TraceID      string
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

func (b Booking) created() tickets.BookingCreated {
	return tickets.BookingCreated{BookingID: b.ID, Seat: b.Seat, Customer: b.Customer, Amount: b.Amount}
}

// state is the part of a booking that events change.
type state struct {
	status   Status
	released bool
	reason   string
}

func (b Booking) state() state { return state{b.Status, b.SeatReleased, b.Reason} }

// outcome is what one event says became of a booking.
type outcome struct {
	id     uuid.UUID
	status Status
	reason string
	// released says that the seat is free again; only SeatReleased says so.
	released bool
}

// usual is the state in which an outcome normally finds its booking.
func (o outcome) usual() state {
	if o.released {
		return state{status: Cancelled}
	}
	return state{status: Pending}
}

// verdict is what an outcome means to a booking in some state.
type verdict int

const (
	changes     verdict = iota // the booking moves to another state
	repeats                    // it is there already
	contradicts                // it ended in another way, and stays so
)

// next is the state machine of a booking: the state after o, and what o meant.
//
//	Pending    any outcome: Confirmed, Rejected or Cancelled
//	           SeatReleased: Cancelled and released, as its PaymentFailed was lost or is late
//	Cancelled  SeatReleased: released
//	else       the same outcome repeats; another one contradicts
func (s state) next(o outcome) (state, verdict) {
	switch {
	case s.status == Pending:
		return state{o.status, o.released, o.reason}, changes
	case s.status != o.status:
		return s, contradicts
	case o.released && !s.released:
		return state{s.status, true, s.reason}, changes
	default:
		return s, repeats
	}
}
