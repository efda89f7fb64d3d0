package verify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Violation is one invariant that does not hold.
type Violation struct {
	Invariant int       // 1 to 5
	BookingID uuid.UUID // Nil if it is not about one booking
	TraceID   string    // of the booking, if it is known
	Text      string

	kind string // what is wrong, without figures
}

func (v Violation) String() string {
	if v.BookingID == uuid.Nil {
		return fmt.Sprintf("invariant %d: %s", v.Invariant, v.Text)
	}
	return fmt.Sprintf("invariant %d: booking %s: %s (trace %s)", v.Invariant, v.BookingID, v.Text, v.TraceID)
}

// Check is every violation in s of the invariants 1 to 4. accepted are the
// bookings that are known to have been answered 202, over and above those that
// the booking service lists.
func Check(s Snapshot, accepted ...uuid.UUID) []Violation {
	c := &checker{
		bookings: make(map[uuid.UUID]Booking), holds: make(map[uuid.UUID]int), payments: make(map[uuid.UUID][]Payment),
		charges: make(map[uuid.UUID][]Charge),
	}
	for _, b := range s.Bookings {
		c.bookings[b.ID] = b
	}
	c.existence(s, accepted)
	c.seats(s)
	for _, p := range s.Payments {
		c.payments[p.BookingID] = append(c.payments[p.BookingID], p)
	}
	for _, charge := range s.Charges {
		if _, ok := c.bookings[charge.BookingID]; !ok {
			c.add(3, charge.BookingID, "was charged %s, but does not exist", charge.Amount)
		}
		c.charges[charge.BookingID] = append(c.charges[charge.BookingID], charge)
	}
	for _, b := range s.Bookings {
		c.booking(b)
	}
	return c.found
}

type checker struct {
	bookings map[uuid.UUID]Booking
	holds    map[uuid.UUID]int // the seat that a booking holds
	payments map[uuid.UUID][]Payment
	charges  map[uuid.UUID][]Charge
	found    []Violation
}

func (c *checker) add(invariant int, id uuid.UUID, format string, args ...any) {
	c.found = append(c.found, Violation{invariant, id, c.bookings[id].TraceID, fmt.Sprintf(format, args...), format})
}

func (c *checker) existence(s Snapshot, accepted []uuid.UUID) {
	for _, id := range accepted {
		if _, ok := c.bookings[id]; !ok {
			c.add(1, id, "was accepted, but does not exist")
		}
	}
	for _, b := range s.Bookings {
		switch {
		case b.Status == "Cancelled" && !b.SeatReleased:
			c.add(1, b.ID, "is not finished: Cancelled, and its seat not released")
		case !b.known():
			c.add(1, b.ID, "has a status that there is not: %q", b.Status)
		case !b.finished():
			c.add(1, b.ID, "is not finished: %s", b.Status)
		}
	}
	for _, r := range s.Reservations {
		if _, ok := c.bookings[r.BookingID]; !ok {
			c.add(1, r.BookingID, "has a reservation of seat %d, but no booking", r.Seat)
		}
	}
	for _, p := range s.Payments {
		if _, ok := c.bookings[p.BookingID]; !ok {
			c.add(1, p.BookingID, "has a payment, but no booking")
		}
	}
}

func (c *checker) seats(s Snapshot) {
	holder := make(map[int]uuid.UUID)
	for _, h := range s.Held {
		if other, ok := holder[h.Seat]; ok {
			c.add(2, h.BookingID, "holds seat %d, which booking %s holds too", h.Seat, other)
		}
		holder[h.Seat] = h.BookingID
		if seat, ok := c.holds[h.BookingID]; ok {
			c.add(2, h.BookingID, "holds two seats, %d and %d", seat, h.Seat)
		}
		c.holds[h.BookingID] = h.Seat
		if h.Seat > s.Total {
			c.add(4, h.BookingID, "holds seat %d, and the hall has %d", h.Seat, s.Total)
		}
		switch b, ok := c.bookings[h.BookingID]; {
		case !ok:
			c.add(2, h.BookingID, "holds seat %d, but does not exist", h.Seat)
		case b.Status == "Cancelled":
			c.add(4, h.BookingID, "is Cancelled, but holds seat %d", h.Seat)
		case b.Status != "Confirmed":
			c.add(2, h.BookingID, "holds seat %d, but is %s", h.Seat, b.Status)
		case b.Seat != h.Seat:
			c.add(2, h.BookingID, "holds seat %d, not its seat %d", h.Seat, b.Seat)
		}
	}
	if surplus := s.Free + len(s.Held) - s.Total; surplus != 0 && !s.seatsMoved {
		c.add(4, uuid.Nil, "%d seats free and %d held are not the %d of the hall", s.Free, len(s.Held), s.Total)
		c.found[len(c.found)-1].kind += strconv.Itoa(surplus) // another one is another fault
	}
}

func (c *checker) booking(b Booking) {
	payments, charges := c.payments[b.ID], c.charges[b.ID]
	succeeded := 0
	for _, p := range payments {
		if p.Status == "succeeded" {
			succeeded++
		}
	}
	if b.Status != "Confirmed" {
		if succeeded > 0 {
			c.add(3, b.ID, "is %s, but its payment succeeded", b.Status)
		}
		if len(charges) > 0 {
			c.add(3, b.ID, "is %s, but was charged %s", b.Status, Times(len(charges)))
		}
		return
	}
	if _, ok := c.holds[b.ID]; !ok {
		c.add(2, b.ID, "is Confirmed, but does not hold seat %d", b.Seat)
	}
	switch {
	case len(payments) != 1 || succeeded != 1:
		c.add(3, b.ID, "is Confirmed with %d payments, %d of them succeeded", len(payments), succeeded)
	case payments[0].Amount != b.Amount:
		c.add(3, b.ID, "costs %s, but %s was paid", b.Amount, payments[0].Amount)
	}
	switch {
	case len(charges) != 1:
		c.add(3, b.ID, "is Confirmed, but was charged %s", Times(len(charges)))
	case charges[0].Amount != b.Amount:
		c.add(3, b.ID, "costs %s, but %s was charged", b.Amount, charges[0].Amount)
	}
}

// Times is how often something happened, in words.
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// CheckQueues is a violation for each queue that is not empty. depths is how
// many messages each has, delivered ones included; dead queues may have any.
func CheckQueues(depths map[string]int) []Violation {
	var found []Violation
	for _, queue := range slices.Sorted(maps.Keys(depths)) {
		if n := depths[queue]; n > 0 {
			are := "messages are"
			if n == 1 {
				are = "message is"
			}
			found = append(found, Violation{Invariant: 5, Text: fmt.Sprintf("%d %s left in %s", n, are, queue)})
		}
	}
	return found
}
