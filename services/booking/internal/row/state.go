package row

import "github.com/google/uuid"

// State is the part of a booking that events change.
type State struct {
	Status   Status
	Released bool
	Reason   string
}

// State is where b stands.
func (b Booking) State() State { return State{b.Status, b.SeatReleased, b.Reason} }

// Outcome is what one event says became of a booking.
type Outcome struct {
	ID     uuid.UUID
	Status Status
	Reason string
	// Released says that the seat is free again; only SeatReleased says so.
	Released bool
}

// Usual is the state in which an outcome normally finds its booking.
func (o Outcome) Usual() State {
	if o.Released {
		return State{Status: Cancelled}
	}
	return State{Status: Pending}
}

// Verdict is what an outcome means to a booking in some state.
type Verdict int

// What an outcome may mean.
const (
	Changes     Verdict = iota // the booking moves to another state
	Repeats                    // it is there already
	Contradicts                // it ended in another way, and stays so
)

// Next is the state machine of a booking: the state after o, and what o meant.
//
//	Pending    any outcome: Confirmed, Rejected or Cancelled
//	           SeatReleased: Cancelled and released, as its PaymentFailed was lost or is late
//	Cancelled  SeatReleased: released
//	else       the same outcome repeats; another one contradicts
func (s State) Next(o Outcome) (State, Verdict) {
	switch {
	case s.Status == Pending:
		return State{o.Status, o.Released, o.Reason}, Changes
	case s.Status != o.Status:
		return s, Contradicts
	case o.Released && !s.Released:
		return State{s.Status, true, s.Reason}, Changes
	default:
		return s, Repeats
	}
}
