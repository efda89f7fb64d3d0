// Package row is what one row of the bookings table says: a booking, where it
// stands, and what its saga is started with. It knows no database and no door.
package row

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

// Created is the event that starts the saga of b.
func (b Booking) Created() tickets.BookingCreated {
	return tickets.BookingCreated{BookingID: b.ID, Seat: b.Seat, Customer: b.Customer, Amount: b.Amount}
}

// Carrier holds the W3C headers of a booking's first publish.
type Carrier map[string]string

// Order is a booking that is not finished, and what its saga is started with.
type Order struct {
	Booking
	Carrier  Carrier
	Key      string        // its Idempotency-Key, or "", from the request alone
	Started  bool          // its row says that its saga has begun; else it waits
	Again    bool          // its first event may have been published before: now it goes without its fault script
	Age      time.Duration // of the saga when the row was read
	Redrives int           // how often it was published again after its deadline
}
