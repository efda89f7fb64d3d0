package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"boxoffice/internal/experiment"
)

const theExperiments = `compensation       a declined card gives the seat back, and someone else gets it
double-booking     50 clients want one seat at once: one gets it, because the database says so
redelivery         a crash between commit and acknowledgement: the event comes again, and nothing happens twice
lost-confirm       a crash after the publish: the outcome comes twice, and changes nothing
duplicate-charge   two payment events at the same time: the bank charges once
retry-backoff      a failing event waits outside its queue, and holds up nobody
poison             what cannot be handled is parked with its reason, and redriven once that is fixed
late-compensation  the compensation overtakes the action: the seat is not reserved afterwards
late-duplicate     a duplicate that comes after the release does not reserve again
wrong-seat         a repeated failure names a seat that is someone else's now: only the owner's is released
door               the door takes exactly what it has room for: 202, then 429, then 503
drain              a draining door takes nobody new, and finishes whom it has
broker-outage      without a broker bookings are still taken: the row is the outbox
bank-outage        a bank that fails, or is slow, holds the payment: no attempt is spent, no charge made twice
`

func TestExperimentList(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"experiment"}, {"experiment", "list"}} {
		if code, stdout, stderr := boxoffice(t, nil, args...); code != 0 || stdout != theExperiments || stderr != "" {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

// Short delays between attempts, and enough patience for a busy machine.
func experimentArgs(names ...string) []string {
	return append([]string{"experiment", "--retry-delays=500ms,1500ms"}, names...)
}

// goSyntax is what people should not have to read.
var goSyntax = regexp.MustCompile(`map\[|\[\d|\b1 times|%!|\d\.\d\d+m?s\b`)

func TestExperiments(t *testing.T) {
	t.Parallel()
	for _, x := range experiment.All() {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := boxoffice(t, nil, experimentArgs(x.Name)...)
			if code != 0 || stderr != "" || strings.Contains(stdout, "BROKEN") ||
				!strings.Contains(stdout, "invariants 1 to 5 hold") || !strings.Contains(stdout, "\nPASS  "+x.Name+"  ") || goSyntax.MatchString(stdout) {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// aWhile is a measured time: how long something takes depends on the machine.
const aWhile = `(\d+ ms|\d\.\d s|\d+ s)`

// Without the safety that it is about, each experiment fails, and says what is broken.
func TestUnsafeMatrix(t *testing.T) {
	t.Parallel()
	broken := map[string]struct{ text, conclusion string }{
		"redelivery/ack-first":           {`invariant 1: booking \S+ is not finished: Pending`, "invariants 1 and 2 are broken"},
		"broker-outage/no-confirm":       {`invariant 1: booking \S+ is not finished: Pending`, "invariant 1 is broken"},
		"late-compensation/no-tombstone": {`invariant 4: booking \S+ is Cancelled, but holds seat 1`, "invariants 3 and 4 are broken"},
		"late-duplicate/no-tombstone":    {`invariant 4: booking \S+ is Cancelled, but holds seat 1`, "invariant 4 is broken"},
		"wrong-seat/no-owner-check":      {`invariant 2: booking \S+ is Confirmed, but does not hold seat 1`, "invariant 2 is broken"},
		"retry-backoff/requeue-now":      {`invariant 1: booking \S+ is not finished: Pending`, "invariant 1 is broken"},
	}
	for _, x := range experiment.All() {
		for _, u := range x.Unsafe {
			name := fmt.Sprintf("%s/%s", x.Name, u)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				code, stdout, stderr := boxoffice(t, []string{"UNSAFE=" + string(u)}, append(experimentArgs(x.Name), "--patience=6s")...)
				conclusion := "\n      it fails, as it should with UNSAFE=" + string(u) + ": " + broken[name].conclusion
				if code != exitFailed || stderr != "boxoffice: 1 of 1 failed, as it should with UNSAFE="+string(u)+"\n" ||
					!strings.Contains(stdout, "\nFAIL  "+x.Name+"  ") || broken[name].text == "" ||
					!regexp.MustCompile("\n      broken: "+broken[name].text).MatchString(stdout) ||
					!strings.HasPrefix(stdout[strings.LastIndex(strings.TrimSpace(stdout), "\n"):], conclusion) {
					t.Errorf("exit %d\n%s%s", code, stdout, stderr)
				}
			})
		}
	}
}

// A safety that an experiment is not about changes nothing, and it says where it does.
func TestUnsafeElsewhere(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := boxoffice(t, []string{"UNSAFE=no-tombstone"}, experimentArgs("compensation")...)
	if code != 0 || stderr != "" || !strings.HasSuffix(stdout,
		"\n      it passes, as it is not about what UNSAFE=no-tombstone turns off: late-compensation and late-duplicate are\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestExperimentTrace(t *testing.T) {
	t.Parallel()
	code, stdout, _ := boxoffice(t, nil, "experiment", "compensation", "redelivery", "--trace")
	for _, want := range []string{`    POST /bookings +booking `, `process seats.BookingCreated +seats `, `\nPASS +compensation +` + aWhile + `\nPASS +redelivery +` + aWhile + `\n$`} {
		if code != 0 || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("exit %d, no %q in\n%s", code, want, stdout)
		}
	}
}

func TestExperimentUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`there is no experiment "nonsense" (boxoffice experiment list`:   {"poison", "nonsense"},
		`there is no experiment "Redelivry": is it redelivery? (boxoff`:  {"Redelivry"},
		`list goes alone: boxoffice experiment list`:                     {"list", "poison"},
		`--reset goes with --url: without it each experiment has`:        {"poison", "--reset"},
		`--patience=1h0m0s must be above 0s, and 15s at most`:            {"poison", "--patience=1h"},
		`UNSAFE is a setting of the services, which run already`:         {"poison", "--url=http://127.0.0.1:5200", "--unsafe=ack-first"},
		`http://127.0.0.1:1 has not the usual port 5200: say --s`:        {"poison", "--url=http://127.0.0.1:1"},
		`--trace and -v are for services that are started here: leave -`: {"poison", "--trace", "--url=http://127.0.0.1:5200"},
		`--unsafe="x" is not known; use no-confirm, ack-first, no-tombs`: {"poison", "--unsafe=x"},
	} {
		code, stdout, stderr := boxoffice(t, nil, append([]string{"experiment"}, args...)...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "boxoffice: "+want) {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

// Against a running up, whose broker nobody else reaches.
func TestExperimentAgainstUp(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("RETRY_DELAYS=500ms,1500ms"), "up")
	at := []string{"--url=" + up.url("booking"), "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments")}
	code, stdout, stderr := boxoffice(t, nil, append(experimentArgs("compensation", "poison", "drain", "wrong-seat", "broker-outage"), at...)...)
	if code != exitUnanswered || stderr != "boxoffice: 2 of 5 could not be tried\n" || len(regexp.MustCompile(`\nPASS {2}\S`).FindAllString(stdout, -1)) != 3 ||
		!strings.Contains(stdout, "NOT TRIED  wrong-seat: cannot be tried here: it publishes events itself; the broker is inside boxoffice up, where nobody else can: leave --url out") ||
		!strings.Contains(stdout, "NOT TRIED  broker-outage: cannot be tried here: the broker is inside boxoffice up") ||
		!strings.Contains(stdout, "invariants 1 to 4 hold; 5, no message is left, is not checked: ") ||
		!regexp.MustCompile(`\n +boxoffice explain \S+ `+regexp.QuoteMeta(strings.Join(at, " "))+`\n +boxoffice trace \S+ `+at[0]+`\n`).MatchString(strings.ReplaceAll(stdout, "-url ", "-url=")) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}

	dark := start(t, anyPorts("LAB=off"), "up")
	code, _, stderr = boxoffice(t, nil, "experiment", "drain", "--url="+dark.url("booking"), "--seats-url="+dark.url("seats"), "--payments-url="+dark.url("payments"))
	if code != exitUnanswered || !strings.Contains(stderr, "the lab of booking is off, and without it nothing can be broken on purpose: start the services with LAB=on") {
		t.Errorf("without a lab: exit %d\n%s", code, stderr)
	}
}

// The bank's gate cannot hold more bookings than the hall has seats.
func TestDoorOfASmallHall(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("SEATS_TOTAL=1", "STALL_AFTER=2s", "ADMISSION_ACTIVE=8", "ADMISSION_WAITING=12"), "up")
	code, stdout, stderr := boxoffice(t, nil, "experiment", "door", "--patience=5s",
		"--url="+up.url("booking"), "--seats-url="+up.url("seats"), "--payments-url="+up.url("payments"))
	if code != 0 || !strings.Contains(stdout, "seats holds each active booking for 15s") ||
		!strings.Contains(stdout, "all 20 that were taken finish\n") || !strings.Contains(stdout, "\nPASS  door") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestUnsafeNeedsTheLab(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"up"}, {"seats"}, {"payments"}, {"booking"}} {
		variables := anyPorts("LAB=off", "UNSAFE=ack-first", "BROKER_URL=amqp://127.0.0.1:1/", "DATABASE_URL=sqlite:x.db")
		code, _, stderr := boxoffice(t, variables, args...)
		if code != exitUsage || !strings.Contains(stderr, `UNSAFE="ack-first" breaks bookings on purpose: it needs LAB=on`) {
			t.Errorf("%v: exit %d\n%s", args, code, stderr)
		}
	}
	up := start(t, anyPorts("UNSAFE=ack-first"), "up")
	up.url("booking")
	for _, service := range []string{"booking", "seats", "payments"} {
		up.err.find(t, `WRN `+service+` +UNSAFE=ack-first: A SAFETY IS OFF ON PURPOSE`)
	}
}
