package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"boxoffice/internal/testserver"
)

// The three services as processes of their own, on real servers.
func TestServicesAsProcesses(t *testing.T) {
	rabbit, postgres := testserver.SharedRabbitMQ(t), testserver.SharedPostgres(t)
	broker := "BROKER_URL=" + rabbit.VHost(t, "cmd")
	services := map[string]*command{}
	for _, name := range []string{"payments", "seats", "booking"} {
		services[name] = start(t, anyPorts(broker, "DATABASE_URL="+postgres.Database(t, "cmd_"+name), "LOG_FORMAT=json", "INSTANCE=one"), name)
	}
	urls := map[string]string{}
	for name, c := range services {
		urls[name] = c.err.find(t, `"msg":"listening",.*"url":"(http://[^"]+)"`)[1]
	}
	for name := range services {
		if err := connectReady(t, urls[name], name == "booking"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	code, stdout, stderr := boxoffice(t, nil, "demo", "--url", urls["booking"])
	found := regexp.MustCompile(theFour + "\nivan's trace is ([0-9a-f]{32});").FindStringSubmatch(stdout)
	if code != 0 || found == nil {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	for name, c := range services {
		c.signal(syscall.SIGTERM)
		if code := c.exit(); code != 0 {
			t.Errorf("%s: exit %d", name, code)
		}
		inTrace := 0
		for text := range strings.Lines(c.err.String()) {
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Errorf("%s logs %q", name, text)
			}
			if line["service"] != name || line["instance"] != "one" {
				t.Errorf("%s logs %q", name, text)
			}
			if line["trace_id"] == found[1] {
				inTrace++
			}
		}
		if inTrace == 0 {
			t.Errorf("%s logs no line of trace %s", name, found[1])
		}
	}
}
