package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// An experiment that is killed mends nothing. Nobody can start another one on
// what it left, and reset mends and empties it.
func TestResetAfterAKilledExperiment(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]string{
		"door":        "nothing finishes: after STALL_AFTER",
		"bank-outage": "202 Accepted: booking",
		"drain":       "the door is draining",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, at := labStack(t, "STALL_AFTER=1h", "ADMISSION_ACTIVE=2", "ADMISSION_WAITING=3", "LOG_LEVEL=error")
			x := start(t, nil, append(experimentArgs(name), at...)...)
			x.out.find(t, until)
			x.signal(syscall.SIGKILL)
			x.exit()
			code, stdout, stderr := boxoffice(t, nil, append(experimentArgs("double-booking"), at...)...)
			if code != exitUnanswered || !strings.Contains(stderr, "if another experiment, or someone else, uses this stack, let that end first; else see") || strings.Contains(stdout, "50 clients book") {
				t.Errorf("on top of it: exit %d\n%s%s", code, stdout, stderr)
			}
			for _, step := range []struct {
				want string
				args []string
			}{
				{"^payments  gate open, bank answers\nbooking   drained\npayments  emptied\nseats     emptied\nbooking   emptied\nbooking   takes bookings\n$", append([]string{"reset"}, at...)},
				{theFour, []string{"demo", at[0]}},
				{`read 4 bookings, `, append([]string{"verify"}, at...)},
			} {
				code, stdout, stderr := boxoffice(t, nil, step.args...)
				if code != 0 || !regexp.MustCompile(step.want).MatchString(stdout) {
					t.Errorf("%s: exit %d\n%s%s", step.args[0], code, stdout, stderr)
				}
			}
		})
	}
}
