package booking

import "testing"

// TestStateMachine is design section 2's table for the booking service: every
// event in every state.
func TestStateMachine(t *testing.T) {
	succeeded := outcome{status: Confirmed}
	rejected := outcome{status: Rejected, reason: "taken"}
	failed := outcome{status: Cancelled, reason: "no money"}
	released := outcome{status: Cancelled, reason: "no money", released: true}

	pending := state{Pending, false, ""}
	confirmed := state{Confirmed, false, ""}
	isRejected := state{Rejected, false, "taken"}
	cancelled := state{Cancelled, false, "no money"}
	done := state{Cancelled, true, "no money"}

	for _, c := range []struct {
		name string
		from state
		o    outcome
		to   state
		v    verdict
	}{
		{"Pending, PaymentSucceeded", pending, succeeded, confirmed, changes},
		{"Pending, SeatRejected", pending, rejected, isRejected, changes},
		{"Pending, PaymentFailed", pending, failed, cancelled, changes},
		{"Pending, SeatReleased", pending, released, done, changes},
		{"Confirmed, PaymentSucceeded", confirmed, succeeded, confirmed, repeats},
		{"Confirmed, SeatRejected", confirmed, rejected, confirmed, contradicts},
		{"Confirmed, PaymentFailed", confirmed, failed, confirmed, contradicts},
		{"Confirmed, SeatReleased", confirmed, released, confirmed, contradicts},
		{"Rejected, PaymentSucceeded", isRejected, succeeded, isRejected, contradicts},
		{"Rejected, SeatRejected", isRejected, rejected, isRejected, repeats},
		{"Rejected, PaymentFailed", isRejected, failed, isRejected, contradicts},
		{"Rejected, SeatReleased", isRejected, released, isRejected, contradicts},
		{"Cancelled, PaymentSucceeded", cancelled, succeeded, cancelled, contradicts},
		{"Cancelled, SeatRejected", cancelled, rejected, cancelled, contradicts},
		{"Cancelled, PaymentFailed", cancelled, failed, cancelled, repeats},
		{"Cancelled, SeatReleased", cancelled, released, done, changes},
		{"released, PaymentSucceeded", done, succeeded, done, contradicts},
		{"released, SeatRejected", done, rejected, done, contradicts},
		{"released, PaymentFailed", done, failed, done, repeats},
		{"released, SeatReleased", done, released, done, repeats},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, v := c.from.next(c.o)
			if to != c.to || v != c.v {
				t.Errorf("got %+v, %d; want %+v, %d", to, v, c.to, c.v)
			}
			if again, v := to.next(c.o); again != to || v == changes {
				t.Errorf("the second time changes %+v to %+v", to, again)
			}
		})
	}
}
