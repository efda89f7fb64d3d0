package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestHelpShowsExamples(t *testing.T) {
	t.Parallel()
	var out, err strings.Builder
	run(context.Background(), nil, console{&out, &err})
	commands := regexp.MustCompile(`(?m)^  ([a-z]+) {2,}[A-Z]`).FindAllStringSubmatch(out.String(), -1)
	if len(commands) < 7 {
		t.Fatalf("commands %v in\n%s", commands, &out)
	}
	for _, command := range commands {
		out.Reset()
		if code := run(context.Background(), []string{command[1], "--help"}, console{&out, &err}); code != 0 {
			t.Errorf("%s --help: exit %d", command[1], code)
		}
		if !strings.Contains(out.String(), "Examples:\n\n    ") || !strings.Contains(out.String(), " boxoffice "+command[1]) {
			t.Errorf("%s has no examples:\n%s", command[1], &out)
		}
	}
	if err.String() != "" {
		t.Errorf("said %s", &err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if code := run(context.Background(), []string{"--version"}, console{&out, &out}); code != 0 || strings.TrimSpace(out.String()) != buildVersion() {
		t.Errorf("exit %d, printed %q", code, out.String())
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		variables []string
		args      []string
		code      int
		want      string // what it says, but for "boxoffice: " before each line
	}{
		{"no such command", nil, []string{"nope"}, exitUsage, "unexpected argument nope .see boxoffice --help.\n"},
		{"missing flags", nil, []string{"book", "--seat=1", "--amount=1"}, exitUsage, "missing flags: --customer=NAME .see boxoffice book --help.\n"},
		{"wrong amount", nil, []string{"book", "--seat=1", "--amount=x", "--customer=a"}, exitUsage, "--amount: .*two decimals.*\n"},
		{
			"an id for a queue", nil,
			[]string{"dead", "show", "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c", "--url=http://127.0.0.1:1"},
			exitUsage, `there is no queue "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c"; it looks like an id: --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c` + "\n",
		},
		{
			"a message's id for a queue", nil,
			[]string{"dead", "redrive", "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c.SeatReserved", "--url=http://127.0.0.1:1"},
			exitUsage, `there is no queue ".*"; it looks like an id: --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c\.SeatReserved` + "\n",
		},
		{
			"a trace's id for a queue", nil,
			[]string{"dead", "show", parkedTrace, "--url=http://127.0.0.1:1"},
			exitUsage, `there is no queue "` + parkedTrace + `"; the queues are:\n(  \S+\n){7}`,
		},
		{"wrong URL", nil, []string{"book", "--seat=1", "--amount=1", "--customer=a", "--url=localhost:5200"}, exitFailed, `"localhost:5200" is not the URL of a service; .*` + "\n"},
		{
			"settings",
			[]string{"BANK_DELAY=abc", "SEATS_TOTAL=0", "BROKER_URL=amqp://h/"},
			[]string{"payments"},
			exitUsage,
			"DATABASE_URL is not set; .*\nBANK_DELAY=\"abc\" is not a duration; use for example 200ms\n",
		},
		{"deadline", []string{"SAGA_DEADLINE=36s"}, []string{"up"}, exitUsage, `SAGA_DEADLINE="36s" must be more than 36s, the sum of RETRY_DELAYS` + "\n"},
		{"alone", []string{"BROKER_URL=inproc:", "DATABASE_URL=sqlite:x.db"}, []string{"seats"}, exitUsage, `BROKER_URL="inproc:" is a broker inside one process, .*` + "\n"},
		{"tracing", append(anyPorts(), "OTEL_TRACES_SAMPLER=never"), []string{"up"}, exitFailed, `OTEL_TRACES_SAMPLER="never" is not supported; .*` + "\n"},
		{"folder", anyPorts(), []string{"up", "--data=/dev/null/x"}, exitFailed, "--data: .*\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := boxoffice(t, test.variables, test.args...)
			said := strings.ReplaceAll("\n"+stderr, "\nboxoffice: ", "\n")[1:]
			if code != test.code || stdout != "" || !regexp.MustCompile("^"+test.want+"$").MatchString(said) {
				t.Errorf("exit %d, printed %q, said\n%s", code, stdout, stderr)
			}
		})
	}
}

// A flag with a wrong value says which it is, and how it is meant.
func TestPlainValues(t *testing.T) {
	t.Parallel()
	book := []string{"book", "--seat=1", "--amount=1", "--customer=a"}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"dead", "list", ""}, `[<queue>]: is empty; name one, or leave it out`},
		{[]string{"dead", "drop", "--id=", "--all", "--yes"}, `--id: is empty; name one, or leave it out`},
		{append(book, "--fault="), `--fault: is empty; name one, or leave it out`},
		{[]string{"dead", "show", " \t"}, `[<queue>]: is empty; name one, or leave it out`},
		{[]string{"dead", "list", "--url", ""}, `--url: is empty; name one, or leave it out`},
		{[]string{"dead", "show", "--url="}, `--url: is empty; name one, or leave it out`},
		{[]string{"dead", "redrive", "--all", "--url="}, `--url: is empty; name one, or leave it out`},
		{[]string{"dead", "drop", "--all", "--url="}, `--url: is empty; name one, or leave it out`},
		{[]string{"explain", ""}, "<booking-id>: is empty; name one (see "},
		{[]string{"trace", " "}, "<booking-id>: is empty; name one (see "},
		{[]string{"load", "--duration=2"}, `--duration: "2" has no unit; use for example 2s`},
		{[]string{"load", "--settle", "1.5"}, `--settle: "1.5" has no unit; use for example 1.5s`},
		{[]string{"load", "--settle=-1s"}, `--settle: "-1s" must not be below 0s`},
		{append(book, "--timeout=soon"), `--timeout: "soon" is not a duration; use for example 2m`},
		{[]string{"dead", "list", "--timeout=2"}, `--timeout: "2" has no unit; use for example 2s`},
		{[]string{"trace", "x", "--wait="}, `--wait: "" is not a duration; use for example 8s`},
		{[]string{"verify", "--timeout=-1"}, `--timeout: "-1" is not a duration; use for example 1m`},
		{[]string{"load", "--count=1e3"}, `--count: "1e3" is not a whole number`},
		{[]string{"load", "--mode=open", "--rate=5/s"}, `--rate: "5/s" is not a number`},
		{[]string{"up", "--bank-delay=2"}, `--bank-delay="2" is not a duration; use for example 200ms`},
	} {
		var out strings.Builder
		if code := run(context.Background(), test.args, console{&out, &out}); code != exitUsage || !strings.HasPrefix(out.String(), "boxoffice: "+test.want) {
			t.Errorf("%v: exit %d, want %s\n%s", test.args, code, test.want, &out)
		}
	}
}

// A booking whose outcome does not come can be left, and goes on.
func TestBookInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		fmt.Fprint(w, `{"id":"b1","status":"Pending","traceId":"t1"}`)
	}))
	defer service.Close()
	c := start(t, nil, "book", "--seat=1", "--amount=1", "--customer=a", "--url", service.URL)
	<-asked
	c.signal(syscall.SIGINT)
	where := "where it stands: boxoffice explain b1 --url " + service.URL + "\n"
	if code := c.exit(); code != exitInterrupted || c.err.String() != "boxoffice: interrupted; booking b1 goes on (trace t1); "+where {
		t.Errorf("exit %d, said %q", code, c.err)
	}
	code, _, stderr := boxoffice(t, nil, "book", "--seat=1", "--amount=1", "--customer=a", "--timeout=3s", "--url", service.URL)
	if code != exitFailed || !regexp.MustCompile(`^(booking b1 is not finished after .*\n)*boxoffice: booking b1 is still Pending after \d\S*s \(trace t1\)\nboxoffice: `+where+"$").MatchString(stderr) {
		t.Errorf("exit %d, said %q", code, stderr)
	}
}
