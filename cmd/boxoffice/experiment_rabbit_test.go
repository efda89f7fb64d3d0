package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/experiment"
	"boxoffice/internal/testserver"
)

// realStack is the three services, each a process of its own with a database of
// its own, on a real broker.
type realStack struct {
	broker string
	flags  []string // where the services are
}

// processes starts them. Their door is small, so that it can be filled.
func processes(t *testing.T, broker string, postgres *testserver.Postgres, name string) realStack {
	t.Helper()
	s := realStack{broker: broker}
	for _, service := range []string{"booking", "seats", "payments"} {
		c := start(t, anyPorts("BROKER_URL="+broker, "DATABASE_URL="+postgres.Database(t, name+"_"+service), "LAB=on",
			"RETRY_DELAYS=500ms,1500ms", "SEATS_TOTAL=20", "ADMISSION_ACTIVE=8", "ADMISSION_WAITING=50", "STALL_AFTER=4s"), service)
		url := c.err.find(t, `listening url=(http://\S+)`)[1]
		if err := connectReady(t, url, service == "booking"); err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		s.flags = append(s.flags, "--"+strings.TrimPrefix(service+"-url=", "booking-")+url)
	}
	return s
}

// start starts a command about this stack.
func (s realStack) start(t *testing.T, args ...string) *command {
	t.Helper()
	return start(t, []string{"BROKER_URL=" + s.broker}, append(args, s.flags...)...)
}

// play starts an experiment on it, once it is empty.
func (s realStack) play(t *testing.T, name string, rabbit *testserver.Rabbit) *command {
	t.Helper()
	return s.start(t, append(experimentArgs(name), "--reset", "--management-url="+rabbit.ManagementURL)...)
}

// passed expects that an experiment passes, with all invariants.
func (c *command) passed(name string) {
	c.t.Helper()
	code, stdout := c.exit(), c.out.String()
	if code != 0 || strings.Contains(stdout, "BROKEN") || !strings.Contains(stdout, "invariants 1 to 5 hold") ||
		!strings.Contains(stdout, "\nPASS  "+name+"  ") || goSyntax.MatchString(stdout) {
		c.t.Errorf("%s: exit %d", name, code)
	}
}

// nothingParked expects that of the whole broker.
func (s realStack) nothingParked(t *testing.T) {
	t.Helper()
	if code, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + s.broker}, "dead", "list"); code != 0 || stdout != "nothing is parked in any queue\n" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// The same experiments on real brokers and databases, whose queues are looked
// at: on three stacks side by side, as most of the time nothing but time passes.
func TestExperimentsOnRabbitMQ(t *testing.T) {
	t.Parallel()
	rabbit, postgres := testserver.SharedRabbitMQ(t), testserver.SharedPostgres(t)
	groups := [][]string{
		{"redelivery", "lost-confirm", "duplicate-charge", "retry-backoff", "poison"},
		{"compensation", "double-booking", "late-compensation", "late-duplicate", "wrong-seat"},
		{"door", "drain", "bank-outage"},
	}
	played := append(slices.Concat(groups...), "broker-outage") // which is below
	for _, x := range experiment.All() {
		if !slices.Contains(played, x.Name) {
			t.Errorf("%s is not played", x.Name)
		}
	}
	stacks := make([]realStack, len(groups))
	for i := range groups {
		name := fmt.Sprintf("stack%d", i)
		stacks[i] = processes(t, rabbit.VHost(t, name), postgres, name)
	}
	for round := range groups[0] {
		playing := map[string]*command{}
		for i, group := range groups {
			if round < len(group) {
				playing[group[round]] = stacks[i].play(t, group[round], rabbit)
			}
		}
		for name, c := range playing {
			c.passed(name)
		}
	}
	for _, s := range stacks {
		s.nothingParked(t)
	}
	for _, name := range []string{"poison", "bank-outage"} { // they look for parked messages, and change nothing without
		code, stdout, stderr := boxoffice(t, nil, append(experimentArgs(name), stacks[0].flags...)...)
		if code != exitUnanswered || !strings.Contains(stderr, "cannot be tried here: it looks for parked messages") || strings.Contains(stdout, "books") {
			t.Errorf("%s without a broker: exit %d\n%s%s", name, code, stdout, stderr)
		}
	}
	explainParked(t, stacks[0])
}

// A person, who is us, stops the broker and starts it again.
func TestBrokerOutageOnRabbitMQ(t *testing.T) {
	t.Parallel()
	rabbit, postgres := testserver.RabbitMQ(t), testserver.SharedPostgres(t)
	s := processes(t, rabbit.URL, postgres, "outage")
	c := s.play(t, "broker-outage", rabbit)
	c.out.find(t, `Stop the broker now, in another terminal: docker compose stop rabbitmq$`)
	c.out.find(t, `You have 2 minutes\.$`)
	c.out.find(t, `Leave it off until you are told to start it again, about 3s later; have it back within 40s then\.$`)
	rabbit.Stop(t)
	c.out.find(t, `Start it again now, within 40s: docker compose start rabbitmq`)
	c.err.find(t, `waiting for you to start the broker again: 3\d s left`)
	rabbit.Start(t)
	c.passed("broker-outage")
	s.nothingParked(t)
}

// explainParked has a parked message explained.
func explainParked(t *testing.T, s realStack) {
	t.Helper()
	b := postFaulty(t, strings.TrimPrefix(s.flags[0], "--url="), `{"seat":19,"customer":"olena","amount":450}`, "booking.PaymentSucceeded=poison")
	explain := append([]string{"explain", b.ID}, s.flags...)
	for _, want := range []string{
		"It waits for booking.PaymentSucceeded.", "parked in booking.PaymentSucceeded.dead, after attempt 1: injected",
		"  boxoffice dead redrive booking.PaymentSucceeded --id " + b.ID,
	} {
		untilSays(t, want, func() string {
			_, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + s.broker}, explain...)
			return stdout + stderr
		})
	}
	if _, stdout, _ := boxoffice(t, nil, explain...); !strings.Contains(stdout, "Whether a message of it is parked is not known: ") || !strings.Contains(stdout, "--broker-url") {
		t.Errorf("without the broker:\n%s", stdout)
	}
}

// The broker that BROKER_URL names has to be the services' own.
func TestExperimentOnAnotherBroker(t *testing.T) {
	t.Parallel()
	rabbit := testserver.SharedRabbitMQ(t)
	up := start(t, anyPorts("RETRY_DELAYS=500ms,1500ms"), "up")
	at := []string{"--url=" + up.url("booking"), "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments"), "--patience=3s"}
	try := func(broker, name string) (code int, output string) {
		code, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + broker}, slices.Concat(experimentArgs(name), at)...)
		return code, stdout + stderr
	}

	const nobody = "amqp://guest:hunter2@127.0.0.1:1/"
	code, output := try(nobody, "all")
	if code != exitUnanswered || !strings.Contains(output, "boxoffice: BROKER_URL=amqp://guest:xxxxx@127.0.0.1:1/ cannot be reached within 3s: ") ||
		!strings.Contains(output, "refused") || !strings.Contains(output, "leave it out") || strings.Contains(output, "hunter2") || strings.Contains(output, "NOT TRIED") {
		t.Errorf("nobody listens: exit %d\n%s", code, output)
	}
	code, output = try(rabbit.VHost(t, "empty"), "wrong-seat")
	if code != exitUnanswered || !strings.Contains(output, " has no queues of boxoffice: ") {
		t.Errorf("without queues: exit %d\n%s", code, output)
	}

	others := rabbit.VHost(t, "others")
	seats := start(t, anyPorts("BROKER_URL="+others, "DATABASE_URL=sqlite:seats.db", "RETRY_DELAYS=500ms,1500ms"), "seats")
	if err := connectReady(t, seats.err.find(t, `listening url=(http://\S+)`)[1], false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"late-compensation", "double-booking"} {
		code, output = try(others, name)
		if code != exitUnanswered || !strings.Contains(output, "cannot be tried here: no event of booking ") ||
			!strings.Contains(output, "the services use another broker, or another virtual host") {
			t.Errorf("%s on others' queues: exit %d\n%s", name, code, output)
		}
		if strings.Contains(output, "a stranger publishes") {
			t.Errorf("%s published to others:\n%s", name, output)
		}
	}
}

// untilSays looks until it says what it should.
func untilSays(t *testing.T, want string, look func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for text := look(); !strings.Contains(text, want); text = look() {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in\n%s", want, text)
		}
	}
}

// postFaulty makes a booking with a fault script.
func postFaulty(t *testing.T, url, body, script string) (b client.Booking) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/bookings", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if script != "" {
		r.Header.Set("X-Lab-Fault", script)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&b); err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("%s, %v", res.Status, err)
	}
	return b
}

// finishAt waits until nothing more happens to the booking.
func finishAt(t *testing.T, url string, b client.Booking) {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if b, err = c.Finish(ctx, b); err != nil {
		t.Fatalf("%+v: %v", b, err)
	}
}
