package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/experiment"
	"boxoffice/internal/testserver"
)

// processes are the three services, each a process of its own, on a real broker.
// Their door is small, so that it can be filled.
func processes(t *testing.T, broker string) (flags []string) {
	t.Helper()
	for _, name := range []string{"booking", "seats", "payments"} {
		service := start(t, anyPorts("BROKER_URL="+broker, "DATABASE_URL=sqlite:"+t.TempDir()+"/"+name+".db", "LAB=on",
			"RETRY_DELAYS=500ms,1500ms", "SEATS_TOTAL=100", "ADMISSION_ACTIVE=8", "ADMISSION_WAITING=50", "STALL_AFTER=4s"), name)
		url := service.err.find(t, `listening url=(http://\S+)`)[1]
		if err := connectReady(t, url, name == "booking"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		flags = append(flags, "--"+strings.TrimPrefix(name+"-url=", "booking-")+url)
	}
	return flags
}

// The same experiments on a real broker, whose queues are looked at.
func TestExperimentsOnRabbitMQ(t *testing.T) {
	rabbit := testserver.SharedRabbitMQ(t)
	broker := rabbit.VHost(t, "experiment")
	flags := processes(t, broker)
	for _, name := range []string{"redelivery", "poison", "retry-backoff", "late-compensation"} {
		code, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + broker},
			append(append(experimentArgs(name), flags...), "--management-url="+rabbit.ManagementURL)...)
		if code != 0 || strings.Contains(stdout, "BROKEN") || !strings.Contains(stdout, "invariants 1 to 5 hold") || !strings.Contains(stdout, "\nPASS  "+name+"  ") {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
	}

	b := postFaulty(t, strings.TrimPrefix(flags[0], "--url="), `{"seat":99,"customer":"olena","amount":450}`, "booking.PaymentSucceeded=poison")
	explain := append([]string{"explain", b.ID}, flags...)
	for _, want := range []string{
		"It waits for booking.PaymentSucceeded.", "parked in booking.PaymentSucceeded.dead, after attempt 1: injected",
		"  boxoffice dead redrive booking.PaymentSucceeded --id " + b.ID,
	} {
		untilSays(t, want, func() string {
			_, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + broker}, explain...)
			return stdout + stderr
		})
	}
	if _, stdout, _ := boxoffice(t, nil, explain...); !strings.Contains(stdout, "Whether a message of it is parked is not known: ") || !strings.Contains(stdout, "--broker-url") {
		t.Errorf("without the broker:\n%s", stdout)
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

// All of them, one after the other on the same services. A person, who is us,
// stops the broker and starts it again.
func TestAllExperimentsOnRabbitMQ(t *testing.T) {
	rabbit := testserver.RabbitMQ(t)
	flags := processes(t, rabbit.URL)
	for _, x := range experiment.All() {
		c := start(t, []string{"BROKER_URL=" + rabbit.URL}, append(experimentArgs(x.Name), flags...)...)
		if x.Name == "broker-outage" {
			c.out.find(t, "Stop the broker now, for example: docker compose stop rabbitmq")
			rabbit.Stop(t)
			c.out.find(t, "Start it again now, for example: docker compose start rabbitmq")
			rabbit.Start(t)
		}
		if code := c.exit(); code != 0 || !strings.Contains(c.out.String(), "\nPASS  "+x.Name+"  ") || strings.Contains(c.out.String(), "BROKEN") {
			t.Errorf("%s: exit %d", x.Name, code)
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
	r.Header.Set("X-Lab-Fault", script)
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
