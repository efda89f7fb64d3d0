package verify

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"boxoffice/tickets"
)

// good is a hall with one booking of each outcome.
func good() (Snapshot, uuid.UUID, uuid.UUID, uuid.UUID) {
	confirmed, rejected, cancelled := uuid.New(), uuid.New(), uuid.New()
	price, dear := tickets.MustAmount("450.5"), tickets.MustAmount("1500")
	return Snapshot{
		Bookings: []Booking{
			{ID: confirmed, Seat: 5, Amount: price, Status: "Confirmed", TraceID: "a"},
			{ID: rejected, Seat: 5, Amount: price, Status: "Rejected", TraceID: "b"},
			{ID: cancelled, Seat: 7, Amount: dear, Status: "Cancelled", SeatReleased: true, TraceID: "c"},
		},
		Held: []Held{{5, confirmed}}, Total: 10, Free: 9,
		Reservations: []Reservation{{confirmed, 5, "reserved"}, {rejected, 5, "rejected"}, {cancelled, 7, "released"}},
		Payments: []Payment{
			{confirmed, price, "succeeded"},
			{cancelled, dear, "failed"},
		},
		Charges: []Charge{{confirmed, price}},
	}, confirmed, rejected, cancelled
}

func TestAGoodHallHasNoViolation(t *testing.T) {
	s, a, b, c := good()
	if found := Check(s, a, b, c); len(found) != 0 {
		t.Errorf("%v", found)
	}
	if found := CheckQueues(map[string]int{"seats.BookingCreated": 0}); len(found) != 0 {
		t.Errorf("%v", found)
	}
}

// Each kind of violation is planted once, and caught.
func TestEachViolationIsCaught(t *testing.T) {
	for name, c := range map[string]struct {
		invariant int
		plant     func(s *Snapshot, confirmed, rejected, cancelled uuid.UUID)
	}{
		"pending":      {1, func(s *Snapshot, _, _, _ uuid.UUID) { s.Bookings[1].Status = "Pending" }},
		"not released": {1, func(s *Snapshot, _, _, _ uuid.UUID) { s.Bookings[2].SeatReleased = false }},
		"a refusal's reservation": {1, func(s *Snapshot, _, _, _ uuid.UUID) {
			s.Reservations = append(s.Reservations, Reservation{uuid.New(), 3, "rejected"})
		}},
		"a refusal's payment": {1, func(s *Snapshot, _, _, _ uuid.UUID) {
			s.Payments = append(s.Payments, Payment{uuid.New(), tickets.MustAmount("1"), "failed"})
		}},
		"a lost booking": {1, func(s *Snapshot, _, _, _ uuid.UUID) { s.Bookings = s.Bookings[:2] }},
		"two holders": {2, func(s *Snapshot, _, _, _ uuid.UUID) {
			other := Booking{ID: uuid.New(), Seat: 5, Amount: tickets.MustAmount("1"), Status: "Confirmed"}
			s.Bookings = append(s.Bookings, other)
			s.Held = append(s.Held, Held{5, other.ID})
			s.Payments = append(s.Payments, Payment{other.ID, other.Amount, "succeeded"})
			s.Charges = append(s.Charges, Charge{other.ID, other.Amount})
			s.Free--
		}},
		"a Rejected holder":  {2, func(s *Snapshot, _, r, _ uuid.UUID) { s.Held = append(s.Held, Held{6, r}); s.Free-- }},
		"an unknown holder":  {2, func(s *Snapshot, _, _, _ uuid.UUID) { s.Held = append(s.Held, Held{6, uuid.New()}); s.Free-- }},
		"another seat":       {2, func(s *Snapshot, _, _, _ uuid.UUID) { s.Held[0].Seat = 6 }},
		"no seat":            {2, func(s *Snapshot, _, _, _ uuid.UUID) { s.Held, s.Free = nil, 10 }},
		"no payment":         {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Payments = s.Payments[1:] }},
		"another amount":     {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Payments[0].Amount = tickets.MustAmount("1") }},
		"charged twice":      {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Charges = append(s.Charges, s.Charges[0]) }},
		"not charged":        {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Charges = nil }},
		"charged too much":   {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Charges[0].Amount = tickets.MustAmount("451") }},
		"a failed payment":   {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Payments[0].Status = "failed" }},
		"cancelled, charged": {3, func(s *Snapshot, _, _, c uuid.UUID) { s.charge(c) }},
		"rejected, charged":  {3, func(s *Snapshot, _, r, _ uuid.UUID) { s.charge(r) }},
		"nobody's charge":    {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.charge(uuid.New()) }},
		"cancelled, paid":    {3, func(s *Snapshot, _, _, _ uuid.UUID) { s.Payments[1].Status = "succeeded" }},
		"rejected, paid": {3, func(s *Snapshot, _, r, _ uuid.UUID) {
			s.Payments = append(s.Payments, Payment{r, tickets.MustAmount("1"), "succeeded"})
		}},
		"cancelled, holds":           {4, func(s *Snapshot, _, _, c uuid.UUID) { s.Held = append(s.Held, Held{7, c}); s.Free-- }},
		"a seat that there is not":   {4, func(s *Snapshot, _, _, _ uuid.UUID) { s.Bookings[0].Seat, s.Held[0].Seat = 11, 11 }},
		"a status that there is not": {1, func(s *Snapshot, _, _, _ uuid.UUID) { s.Bookings[1].Status = "Foo" }},
		"a seat that is gone":        {4, func(s *Snapshot, _, _, _ uuid.UUID) { s.Free-- }},
	} {
		t.Run(name, func(t *testing.T) {
			s, a, b, d := good()
			c.plant(&s, a, b, d)
			found := Check(s, a, b, d)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Invariant == c.invariant }) {
				t.Errorf("not caught: %v", found)
			}
		})
	}
	if found := CheckQueues(map[string]int{"seats.BookingCreated": 2}); len(found) != 1 || found[0].Invariant != 5 {
		t.Errorf("a message that is left: %v", found)
	}
}

func (s *Snapshot) charge(id uuid.UUID) {
	s.Charges = append(s.Charges, Charge{id, tickets.MustAmount("5")})
}

func TestTimes(t *testing.T) {
	for n, want := range map[int]string{0: "0 times", 1: "once", 2: "2 times"} {
		if got := Times(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
