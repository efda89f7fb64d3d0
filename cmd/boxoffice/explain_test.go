package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func TestExplainEachState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	reserved, released, rejected := &serviceRow{Status: "reserved"}, &serviceRow{Status: "released"}, &serviceRow{Status: "rejected"}
	paid, declined := &serviceRow{Status: "succeeded", Charges: 1}, &serviceRow{Status: "failed", Reason: "insufficient funds"}
	twice := &serviceRow{Status: "succeeded", Charges: 2}
	span := func(name, parent, id string, at time.Duration, failed string) telemetry.Span {
		return telemetry.Span{
			Name: name, ParentID: parent, ID: id, Start: now.Add(at), End: now.Add(at), Error: failed,
			Attributes: map[string]any{"boxoffice.attempt": int64(len(id))}, // process span "a" is attempt 1
		}
	}
	const process, wait = "process seats.BookingCreated", "publish tickets.retry 5000ms.seats.BookingCreated"
	failed, sent := span(process, "root", "a", 0, "no\nluck"), span(wait, "a", "s1", time.Second, "")
	held := span(process, "root", "a", 0, "") // or renewed: no attempt was spent
	early, due := span(process, "root", "a", -16*time.Second, "no luck"), span(wait, "a", "s1", -15*time.Second, "")
	again, sentAgain := span(process, "s1", "aa", -10*time.Second, "no luck"), span(wait, "aa", "s2", -time.Second, "")
	refused := span(wait, "aa", "s2", -time.Second, "the broker does not answer")
	other := span(process, "root", "b", 2*time.Second, "") // a delivery of another message of the booking
	trailOf := func(spans ...telemetry.Span) trail { return trail{spans: spans} }
	late := func(spans ...telemetry.Span) trail { return trail{spans: spans, late: true} }
	clock := func(at time.Duration) string { return now.Add(at).Local().Format(time.TimeOnly) }
	unknown := trail{unknown: "Jaeger is down"}
	letter := messaging.DeadLetter{Queue: "seats.BookingCreated", Attempts: 4, Reason: "no luck"}
	for name, c := range map[string]struct {
		status   string
		released bool
		f        facts
		want     []string
		not      string
	}{
		"nobody has it yet":   {"Pending", false, facts{}, []string{"seats     knows nothing of it", "payments  knows nothing", "It waits for seats.BookingCreated.", "published again after SAGA_DEADLINE"}, "parked"},
		"at the bank":         {"Pending", false, facts{reservation: reserved}, []string{"holds the seat for it", "waits for payments.SeatReserved.", "Either its message is on its way, or the bank has not answered (it is slow, or its gate is closed: POST /lab/gate/open on payments opens it), or the message was lost.\nWhat to do: nothing for now; if it was lost, the booking is published again after SAGA_DEADLINE (60 s by default)."}, "The bank"},
		"paid":                {"Pending", false, facts{reservation: reserved, payment: paid}, []string{"charged once", "waits for booking.PaymentSucceeded."}, "bank"},
		"declined":            {"Pending", false, facts{reservation: reserved, payment: declined}, []string{"failed, charged 0 times (insufficient funds)", "waits for booking.PaymentFailed and for seats.PaymentFailed."}, "bank"},
		"turned down":         {"Pending", false, facts{reservation: rejected}, []string{"waits for booking.SeatRejected."}, "bank"},
		"released early":      {"Pending", false, facts{reservation: released}, []string{"waits for booking.SeatReleased."}, "bank"},
		"to be released":      {"Cancelled", false, facts{reservation: reserved, payment: declined}, []string{"waits for seats.PaymentFailed."}, "booking.Payment"},
		"being told":          {"Cancelled", false, facts{reservation: released, payment: declined}, []string{"waits for booking.SeatReleased."}, "seats.Payment"},
		"confirmed":           {"Confirmed", false, facts{reservation: reserved, payment: paid}, []string{"It is finished: nothing more will happen"}, "waits"},
		"rejected":            {"Rejected", false, facts{reservation: rejected}, []string{"It is finished: nothing more"}, "waits"},
		"cancelled":           {"Cancelled", true, facts{reservation: released, payment: declined}, []string{"It is finished: nothing more"}, "waits"},
		"charged twice":       {"Confirmed", false, facts{reservation: reserved, payment: twice}, []string{"contradict each other", "boxoffice verify"}, "It is finished"},
		"cancelled, held":     {"Cancelled", true, facts{reservation: reserved, payment: declined}, []string{"contradict each other"}, "It is finished"},
		"rejected, charged":   {"Rejected", false, facts{payment: paid}, []string{"contradict each other"}, "It is finished"},
		"parked":              {"Pending", false, facts{parked: []messaging.DeadLetter{letter}}, []string{"parked in seats.BookingCreated.dead, after attempt 4: no luck", "  boxoffice dead redrive seats.BookingCreated --id b1"}, "nothing for now"},
		"waits for a retry":   {"Pending", false, facts{trail: trailOf(failed, sent)}, []string{"Attempt 1 of seats.BookingCreated failed (no luck); the next one waits in seats.wait.5000ms; it comes back at about " + clock(6*time.Second) + ", in 6 s.", "tried again by itself"}, "SAGA"},
		"waits outside":       {"Pending", false, facts{trail: trailOf(held, sent)}, []string{"A copy of its message waits outside in seats.wait.5000ms, as the same attempt; it comes back at about " + clock(6*time.Second) + ", in 6 s.", "tried again by itself"}, "failed"},
		"is due":              {"Pending", false, facts{trail: trailOf(early, due)}, []string{"the next one waits in seats.wait.5000ms; it is due since " + clock(-10*time.Second) + ".", "tried again by itself"}, "Jaeger"},
		"is tried again":      {"Pending", false, facts{trail: trailOf(early, due, again)}, []string{"waits for seats.BookingCreated.\n\nWhat to do"}, "Attempt"},
		"waits once more":     {"Pending", false, facts{trail: late(sentAgain, again, due, early)}, []string{"Attempt 2 of seats.BookingCreated failed (no luck); the next one waits in seats.wait.5000ms; it comes back at about " + clock(4*time.Second) + ", in 4 s.\n\nWhat to do: nothing; it is tried again by itself"}, "Jaeger"},
		"another is handled":  {"Pending", false, facts{trail: trailOf(failed, sent, other)}, []string{"the next one waits in seats.wait.5000ms"}, "SAGA"},
		"copy is refused":     {"Pending", false, facts{trail: trailOf(early, due, again, refused)}, []string{"waits for seats.BookingCreated.\n\nWhat to do"}, "wait."},
		"Jaeger knows half":   {"Pending", false, facts{trail: late(sent)}, []string{"A copy of its message waits in seats.wait.5000ms, as which attempt is not known yet; it comes back at about " + clock(6*time.Second) + ", in 6 s.", "tried again by itself"}, "SAGA"},
		"Jaeger is late":      {"Pending", false, facts{trail: late(due, early)}, []string{"it is due since " + clock(-10*time.Second) + ", and Jaeger, which hears of it some seconds late, knows no more.", "tried again by itself"}, "SAGA"},
		"Jaeger knows none":   {"Pending", false, facts{trail: late(early, due, again)}, []string{"It waits for seats.BookingCreated.\nAs far as Jaeger knows, which hears of it some seconds late, no copy of its message waits for another attempt.\n\nWhat to do: nothing for now. If its message was lost, "}, "Attempt"},
		"late and parked":     {"Pending", false, facts{trail: late(early, due), parked: []messaging.DeadLetter{letter}}, []string{"parked in seats.BookingCreated.dead, after attempt 4"}, "wait."},
		"no trail":            {"Pending", false, facts{trail: unknown}, []string{"It waits for seats.BookingCreated.\nWhether a copy of its message waits for another attempt is not known: Jaeger is down\nTo know it, look into the log of seats for \"failed; will be tried again\" with this booking's id.\n\nWhat to do: nothing for now. A copy that waits is tried again by itself; if the message was lost, the booking is published again after SAGA_DEADLINE (60 s by default), and goes on from where it stands."}, "If its"},
		"no trail, at bank":   {"Pending", false, facts{trail: unknown, reservation: reserved}, []string{"into the log of payments for", "Either its message is on its way, or waits for another attempt, or the bank has not answered", "What to do: nothing for now; if it was lost"}, "A copy that"},
		"no trail, declined":  {"Pending", false, facts{trail: unknown, reservation: reserved, payment: declined}, []string{"into the log of booking and of seats for"}, "If its"},
		"no trail, parked":    {"Pending", false, facts{trail: unknown, parked: []messaging.DeadLetter{letter}}, []string{"dead redrive"}, "not known"},
		"no trail, one down":  {"Pending", false, facts{trail: unknown, silent: map[string]string{"seats": "refused"}}, []string{"is not known: Jaeger is down\n\nWhat to do: start the service"}, "the log"},
		"Jaeger, one is down": {"Pending", false, facts{trail: late(failed), silent: map[string]string{"seats": "refused"}}, []string{"start the service"}, "no copy"},
		"cancelled, unknown":  {"Cancelled", true, facts{payment: declined}, []string{"It is finished for booking, but seats knows nothing of it: an event of it may still be on its way.\nWhat to do: look again in a moment; boxoffice verify says whether it is broken then."}, "nothing more"},
		"rejected, unknown":   {"Rejected", false, facts{}, []string{"It is finished for booking, but seats knows nothing of it: "}, "nothing more"},
		"unknown, one parked": {"Cancelled", true, facts{payment: declined, parked: []messaging.DeadLetter{letter}}, []string{"It is finished for booking, but seats knows nothing of it. A message of it is still parked in seats.BookingCreated.dead, after attempt 4: no luck\nWhat to do: remove it, for redriven it may take a seat for nobody:\n  boxoffice dead drop seats.BookingCreated --id b1"}, "change nothing"},
		"seats is down":       {"Pending", false, facts{silent: map[string]string{"seats": "does not answer: refused"}}, []string{"does not answer: refused", "start the service that does not answer"}, "parked"},
		"done, one is down":   {"Confirmed", false, facts{silent: map[string]string{"payments": "refused"}, reservation: reserved}, []string{"It is finished. Whether the others agree"}, "contradict"},
		"done, one parked":    {"Confirmed", false, facts{reservation: reserved, payment: paid, parked: []messaging.DeadLetter{letter}}, []string{"It is finished. A message of it is still parked in seats.BookingCreated.dead, after attempt 4: no luck", "  boxoffice dead drop seats.BookingCreated --id b1"}, "redrive seats"},
		"done, two parked":    {"Confirmed", false, facts{reservation: reserved, payment: paid, parked: []messaging.DeadLetter{letter, letter}}, []string{"It is finished. 2 messages of it are still parked, the first in seats.BookingCreated.dead, after"}, "A message"},
		"done, nobody looks":  {"Confirmed", false, facts{reservation: reserved, payment: paid, unlooked: "refused"}, []string{"It is finished, and there is nothing to do. Whether a message of it is parked is not known: refused"}, "nothing more"},
		"nobody can look":     {"Pending", false, facts{unlooked: "refused"}, []string{"is parked is not known: refused"}, "dead redrive"},
	} {
		f := c.f
		f.booking = client.Booking{ID: "b1", Customer: "olena", Seat: 5, Amount: tickets.MustAmount("450"), Status: c.status, SeatReleased: c.released, CreatedAt: now.Add(-3 * time.Second), TraceID: "t1"}
		f.door.Broker = "ok"
		text := strings.Join(f.explain(now), "\n")
		for _, want := range append(c.want, "booking   olena, seat 5, 450: "+c.status+", made 3s ago", "trace     t1") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", name, c.not, text)
		}
	}
}

func TestExplainTheDoor(t *testing.T) {
	t.Parallel()
	f := facts{booking: client.Booking{Status: "Pending"}}
	f.door.Broker, f.door.Waiting = "ok", 7
	if text := strings.Join(f.explain(time.Now()), "\n"); !strings.Contains(text, "Bookings wait behind the door (7)") {
		t.Error(text)
	}
	f.door.Waiting, f.door.Stalled = 0, 2
	if text := strings.Join(f.explain(time.Now()), "\n"); !strings.Contains(text, "Bookings are stalled (2)") {
		t.Error(text)
	}
	f.reservation = &serviceRow{Status: "reserved"} // it may have been lost on its way to the bank each time
	if text := strings.Join(f.explain(time.Now()), "\n"); !strings.Contains(text, "or the message was lost.\nBookings are stalled (2)") || strings.Contains(text, "for now") {
		t.Error(text)
	}
	f.door.Broker = "the broker is unreachable: refused"
	if text := strings.Join(f.explain(time.Now()), "\n"); !strings.Contains(text, "broker cannot be reached: refused\nWhat to do: start it") {
		t.Error(text)
	}
}

// A booking from parked to finished, at a running up.
func TestExplain(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts(), "up")
	url := up.url("booking")
	at := []string{"--url=" + url, "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments")}
	explain := func(id string) (int, string, string) {
		return boxoffice(t, nil, append([]string{"explain", id}, at...)...)
	}
	b := postFaulty(t, url, `{"seat":5,"customer":"olena","amount":450}`, "seats.BookingCreated=poison")
	up.err.find(t, "parked.*"+b.ID)
	code, stdout, stderr := explain(b.ID)
	want := `^booking   olena, seat 5, 450: Pending, made \d+s ago
seats     knows nothing of it
payments  knows nothing of it
trace     [0-9a-f]{32}

It waits for seats.BookingCreated.
A message is parked in seats.BookingCreated.dead, after attempt 1: injected by .*

What to do: fix the cause, then send the message back to the queue that failed:
  boxoffice dead redrive seats.BookingCreated --id ` + b.ID + " --url " + url + "\n$"
	if code != 0 || stderr != "" || !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	nobody := []string{"BROKER_URL=amqp://guest:hush@127.0.0.1:1/"}
	code, stdout, stderr = boxoffice(t, nobody, append([]string{"explain", b.ID, "--timeout=100ms"}, at...)...)
	want = `(?m)^Whether a message of it is parked is not known: amqp://guest:xxxxx@127\.0\.0\.1:1/: the broker is unreachable: .*refused$`
	if code != 0 || stderr != "" || !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("without the broker: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := boxoffice(t, nil, "dead", "redrive", "seats.BookingCreated", "--id", b.ID, "--url", url); code != 0 {
		t.Fatalf("redrive: exit %d\n%s", code, stderr)
	}
	up.err.find(t, "← PaymentSucceeded.*"+b.ID)
	finishAt(t, url, b)
	if code, stdout, _ := explain(b.ID); code != 0 || !strings.Contains(stdout, "It is finished: nothing more will happen") || !strings.Contains(stdout, "payments  succeeded, charged once") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	code, stdout, stderr = boxoffice(t, nobody, append([]string{"explain", b.ID, "--timeout=1h"}, at...)...) // who is not needed is not waited for
	if code != 0 || stderr != "" || !strings.Contains(stdout, "It is finished") {
		t.Errorf("finished, without the broker: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := explain(parkedTrace); code != exitFailed || !strings.HasPrefix(stderr, "boxoffice: "+parkedTrace+" is a trace id, not a booking's: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a trace id: exit %d\n%s", code, stderr)
	}
	if code, _, stderr := explain("0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c"); code != exitFailed || !strings.Contains(stderr, "there is no booking") {
		t.Errorf("an unknown booking: exit %d\n%s", code, stderr)
	}
}
