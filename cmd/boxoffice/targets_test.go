package main

import (
	"strings"
	"testing"
)

// The environment names a stack; --url names another one, all of it.
func TestTargetsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	stack := []string{"BOOKING_URL=http://127.0.0.1:1", "SEATS_URL=http://127.0.0.1:2", "PAYMENTS_URL=http://127.0.0.1:3"}
	for _, test := range []struct {
		variables []string
		args      []string
		code      int
		want      []string
	}{
		{stack, []string{"reset"}, exitFailed, []string{"booking: http://127.0.0.1:1 cannot", "seats: http://127.0.0.1:2 cannot", "payments: http://127.0.0.1:3 cannot"}},
		{stack, []string{"reset", "--seats-url=http://127.0.0.1:4"}, exitFailed, []string{"seats: http://127.0.0.1:4 cannot", "payments: http://127.0.0.1:3 cannot"}},
		{stack, []string{"reset", "--url=http://127.0.0.1:4"}, exitUsage, []string{"http://127.0.0.1:4 has not the usual port 5200: say --seats-url and --payments-url too"}},
		{stack, []string{"experiment", "compensation"}, exitUnanswered, []string{"booking: http://127.0.0.1:1 cannot", "payments: http://127.0.0.1:3 cannot"}},
		{stack, []string{"experiment", "compensation", "--url=http://127.0.0.1:4"}, exitUsage, []string{"http://127.0.0.1:4 has not the usual port"}},
		{stack, []string{"demo"}, exitFailed, []string{"http://127.0.0.1:1 cannot"}},
		{stack[:1], []string{"verify"}, exitUsage, []string{"http://127.0.0.1:1 has not the usual port"}},
	} {
		code, stdout, stderr := boxoffice(t, test.variables, test.args...)
		for _, want := range test.want {
			if code != test.code || stdout != "" || !strings.Contains(stderr, want) {
				t.Errorf("%v: exit %d, no %q in\n%s%s", test.args, code, want, stdout, stderr)
			}
		}
	}
}

// A command that is suggested works as it is written, in the same shell.
func TestHintsSayWhatTheEnvironmentDoesNot(t *testing.T) {
	const one, two, three = "http://a:1", "http://a:2", "http://a:3"
	for _, test := range []struct{ booking, seats, want, flag string }{
		{"", "", "boxoffice explain b1 --url http://a:1 --seats-url http://a:2 --payments-url http://a:3", " --url http://a:1"},
		{one, "", "boxoffice explain b1 --seats-url http://a:2 --payments-url http://a:3", ""},
		{one, two, "boxoffice explain b1 --payments-url http://a:3", ""},
		{"http://b:1", two, "boxoffice explain b1 --url http://a:1 --seats-url http://a:2 --payments-url http://a:3", " --url http://a:1"},
	} {
		t.Setenv("BOOKING_URL", test.booking)
		t.Setenv("SEATS_URL", test.seats)
		e := experimentCmd{URL: one, SeatsURL: two, PaymentsURL: three}
		if got := e.hint("b1")[0]; got != test.want {
			t.Errorf("BOOKING_URL=%s SEATS_URL=%s: %q, want %q", test.booking, test.seats, got, test.want)
		}
		if got := urlFlag(one); got != test.flag {
			t.Errorf("BOOKING_URL=%s: %q, want %q", test.booking, got, test.flag)
		}
	}
	if got := urlFlag(upURL); got != " --url "+upURL {
		t.Errorf("with another stack in the environment: %q", got)
	}
}
