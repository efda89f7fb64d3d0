package row

import "testing"

// TestStateMachine is design section 2's table for the booking service: every
// event in every state.
func TestStateMachine(t *testing.T) {
	succeeded := Outcome{Status: Confirmed}
	rejected := Outcome{Status: Rejected, Reason: "taken"}
	failed := Outcome{Status: Cancelled, Reason: "no money"}
	released := Outcome{Status: Cancelled, Reason: "no money", Released: true}

	pending := State{Pending, false, ""}
	confirmed := State{Confirmed, false, ""}
	isRejected := State{Rejected, false, "taken"}
	cancelled := State{Cancelled, false, "no money"}
	done := State{Cancelled, true, "no money"}

	for _, c := range []struct {
		name string
		from State
		o    Outcome
		to   State
		v    Verdict
	}{
		{"Pending, PaymentSucceeded", pending, succeeded, confirmed, Changes},
		{"Pending, SeatRejected", pending, rejected, isRejected, Changes},
		{"Pending, PaymentFailed", pending, failed, cancelled, Changes},
		{"Pending, SeatReleased", pending, released, done, Changes},
		{"Confirmed, PaymentSucceeded", confirmed, succeeded, confirmed, Repeats},
		{"Confirmed, SeatRejected", confirmed, rejected, confirmed, Contradicts},
		{"Confirmed, PaymentFailed", confirmed, failed, confirmed, Contradicts},
		{"Confirmed, SeatReleased", confirmed, released, confirmed, Contradicts},
		{"Rejected, PaymentSucceeded", isRejected, succeeded, isRejected, Contradicts},
		{"Rejected, SeatRejected", isRejected, rejected, isRejected, Repeats},
		{"Rejected, PaymentFailed", isRejected, failed, isRejected, Contradicts},
		{"Rejected, SeatReleased", isRejected, released, isRejected, Contradicts},
		{"Cancelled, PaymentSucceeded", cancelled, succeeded, cancelled, Contradicts},
		{"Cancelled, SeatRejected", cancelled, rejected, cancelled, Contradicts},
		{"Cancelled, PaymentFailed", cancelled, failed, cancelled, Repeats},
		{"Cancelled, SeatReleased", cancelled, released, done, Changes},
		{"released, PaymentSucceeded", done, succeeded, done, Contradicts},
		{"released, SeatRejected", done, rejected, done, Contradicts},
		{"released, PaymentFailed", done, failed, done, Repeats},
		{"released, SeatReleased", done, released, done, Repeats},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, v := c.from.Next(c.o)
			if to != c.to || v != c.v {
				t.Errorf("got %+v, %d; want %+v, %d", to, v, c.to, c.v)
			}
			if again, v := to.Next(c.o); again != to || v == Changes {
				t.Errorf("the second time changes %+v to %+v", to, again)
			}
		})
	}
}
