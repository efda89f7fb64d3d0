package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"boxoffice/internal/client"
	"boxoffice/internal/testserver"
)

// The same experiments on a real broker, with the services as processes.
func TestExperimentsOnRabbitMQ(t *testing.T) {
	rabbit := testserver.SharedRabbitMQ(t)
	broker := "BROKER_URL=" + rabbit.VHost(t, "experiment")
	urls := []string{}
	for name, flag := range map[string]string{"booking": "--url=", "seats": "--seats-url=", "payments": "--payments-url="} {
		service := start(t, anyPorts(broker, "DATABASE_URL=sqlite:"+t.TempDir()+"/"+name+".db", "LAB=on", "RETRY_DELAYS=300ms,700ms", "LOG_FORMAT=json"), name)
		url := service.err.find(t, `"msg":"listening",.*"url":"(http://[^"]+)"`)[1]
		if err := connectReady(t, url, name == "booking"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		urls = append(urls, flag+url)
	}
	for _, name := range []string{"redelivery", "poison", "retry-backoff", "late-compensation"} {
		code, stdout, stderr := boxoffice(t, []string{broker}, append(append(experimentArgs(name), urls...), "--management-url="+rabbit.ManagementURL)...)
		if code != 0 || strings.Contains(stdout, "BROKEN") || !strings.Contains(stdout, "invariants 1 to 5 hold") || !strings.Contains(stdout, "\nPASS  "+name+"  ") {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
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
