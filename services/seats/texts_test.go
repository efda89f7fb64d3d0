package seats

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"boxoffice/tickets"
)

// Whatever an event may say comes out of the database as it went in: an event
// that the database refused would be tried in vain, and be parked late.
func TestEveryReasonIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		ctx := t.Context()
		keep := func(t rapid.TB, reason string) {
			t.Helper()
			e := failed(newID(), tickets.MaxSeat)
			e.Reason = reason
			for range 2 { // as it was written, and as it was read
				out, err := r.paymentFailed(ctx, e)
				if err != nil || len(out) != 1 || out[0].(tickets.SeatReleased).Reason != reason {
					t.Fatalf("%q: %+v, %v", reason, out, err)
				}
			}
		}
		for _, reason := range []string{
			"\x01", "\t\r\n", "\x7f\u0085", "\u2028\ufeff", "\ufffd", "𝄞 ї", `"\ \u0000 '`, "null", strings.Repeat("ї", tickets.MaxText/2),
		} {
			keep(t, reason)
		}
		reasons := rapid.String().Filter(func(s string) bool {
			return tickets.PaymentFailed{BookingID: newID(), Seat: 1, Reason: s}.Validate() == nil
		})
		rapid.Check(t, func(rt *rapid.T) { keep(rt, reasons.Draw(rt, "reason")) })
	})
}
