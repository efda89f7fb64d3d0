package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// fills parks so many messages of bookings called b001 and so on.
func (d desk) fills(queue string, n int) {
	d.Helper()
	for i := range n {
		d.park(queue, fmt.Sprintf("b%03d", i+1))
	}
}

// A message that a service has parked, in the process of `up`.
func TestVerifyListsWhatIsParkedAtUp(t *testing.T) {
	t.Parallel()
	d, url, _ := openUp(t)
	s := &stage{} // of seats and payments, which have seen nothing
	s.stand(t)
	s.urls[""] = url
	expect := func(want string) {
		t.Helper()
		code, stdout, stderr := s.verify(t)
		if code != 0 || stderr != "" || !regexp.MustCompile(`5  .* not checked\n     there is no management API .*\n`+want+`read 0 bookings, `).MatchString(stdout) {
			t.Errorf("exit %d, want\n%s\nin\n%s%s", code, want, stdout, stderr)
		}
	}
	expect("")
	id := d.parkByService(url)
	one := `parked: 1 in booking\.PaymentSucceeded\.dead\n     booking ` + id + `  trace ` + parkedTrace + `  \S.*\n`
	expect(one)
	expect(one) // a look moves nothing

	d.fills(failedQueue, 21)
	expect(one + `parked: 21 in seats\.PaymentFailed\.dead\n(     booking b0(0\d|1\d)  trace ` + parkedTrace + `  the cause of b0\d\d\n){19}` +
		`     \.\.\. and 2 more: boxoffice dead list --url ` + url + `\n`)

	release := d.hold("booking.PaymentSucceeded.dead")
	expect(`parked: 21 in seats(?s:.*)\n     \.\.\. and 1 more: .*\nparked: left out is what someone else is looking at, or redriving, right now, of booking\.PaymentSucceeded\n`)
	release()

	for range 5 { // more than an answer holds
		err := d.Publish(t.Context(), tickets.ExchangeDead, failedQueue, messaging.Message{ID: "large", Body: []byte(strings.Repeat("x", 500_000))})
		if err != nil {
			t.Fatal(err)
		}
	}
	expect(one + `parked: at least \d\d in seats\.PaymentFailed\.dead\n(     booking b.*\n){19}     \.\.\. and 7 more: .*\n`)
}

func TestVerifyListsWhatIsParkedOnRabbitMQ(t *testing.T) {
	t.Parallel()
	d, url := rabbitDesk(t)
	d.fills(failedQueue, 2)
	err := d.Publish(t.Context(), tickets.ExchangeDead, "payments.SeatReserved", messaging.Message{
		ID: "m", Type: "Stray\x1b", Headers: map[string]any{messaging.HeaderReason: strings.Repeat("no\n", 100)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newStage()
	s.stand(t)
	list := func(queue string, n int) string {
		return fmt.Sprintf(`parked: %d in %s\.dead\n`, n, regexp.QuoteMeta(queue))
	}
	const line = `     booking %s  trace ` + parkedTrace + `  the cause of %[1]s\n`
	stray := list("payments.SeatReserved", 1) + `     booking unknown  trace unknown  Stray�: (no ){19}no…\n`
	two := list(failedQueue, 2) + fmt.Sprintf(line, "b001") + fmt.Sprintf(line, "b002")
	expect := func(start, want string, args ...string) {
		t.Helper()
		code, stdout, stderr := s.verify(t, append(args, "--broker-url="+url)...)
		if code != 0 || !regexp.MustCompile(start+want+`read 7 bookings, `).MatchString(stdout) {
			t.Errorf("exit %d, want\n%s%s\nin\n%s%s", code, start, want, stdout, stderr)
		}
	}
	// The management API of the tests' broker is not where it is by custom.
	const guessed = `5  .* not checked\n     what is in the queues is not known: .*--management-url says it\n`
	expect(guessed, stray+two)

	// Its figures are older than what is listed.
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"name":"seats.PaymentFailed","messages":0},{"name":"seats.PaymentFailed.dead","messages":7}]`)
	}))
	defer api.Close()
	expect(`5  .* OK\n`, stray+two, "--management-url="+api.URL)

	release := d.hold(deadQueue)
	expect(guessed, stray+`parked: left out is what someone else is looking at, or redriving, right now, of seats\.PaymentFailed\n`)
	release()
	d.fills("booking.PaymentFailed", 18)
	expect(guessed, stray+list("booking.PaymentFailed", 18)+`(     booking b\d{3}  .*\n){18}`+list(failedQueue, 2)+fmt.Sprintf(line, "b001")+
		`     \.\.\. and 1 more: boxoffice dead list\n`)
	d.expect(deadQueue, "b001", "b002")
}

// What is parked breaks nothing, and so does who does not say it.
func TestVerifyThatCannotLookAtWhatIsParked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		media  string
		status int
		want   string
	}{
		"fails":         {"application/problem+json", http.StatusInternalServerError, "parked: not listed: 500 Internal Server Error: out of order\n"},
		"has none":      {"application/problem+json", http.StatusNotFound, ""},
		"is kept away":  {"text/html", http.StatusForbidden, ""},
		"is no message": {"text/html", http.StatusOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			s.dead = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.media)
				w.WriteHeader(test.status)
				if strings.HasPrefix(test.media, "application/") {
					fmt.Fprint(w, `{"detail":"out of order"}`)
				}
			}
			s.stand(t)
			code, stdout, stderr := s.verify(t)
			if code != 0 || stderr != "" || !regexp.MustCompile(`boxoffice up has none\n`+test.want+`read `).MatchString(stdout) {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// What was found is said, though the look at what is parked was interrupted.
func TestVerifyInterruptedWhileItLooks(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	s := newStage()
	s.dead = func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}
	s.stand(t)
	var out, errs strings.Builder
	code := run(ctx, []string{"verify", "--url=" + s.urls[""], "--seats-url=" + s.urls["seats-"], "--payments-url=" + s.urls["payments-"]}, console{&out, &errs})
	if code != 0 || !strings.Contains(out.String(), "\nparked: not listed: interrupted\nread 7 bookings, ") {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
}
