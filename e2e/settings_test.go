package e2e_test

import (
	"slices"
	"strings"
	"testing"
)

// setting is a wrong value, and what the message says is allowed.
type setting struct{ variable, value, allowed string }

// common are wrong for every service.
var common = []setting{
	{"BROKER_URL", "http://localhost", "amqp://guest:guest@localhost:5672/"},
	{"BROKER_URL", "amqps:localhost", "amqp://guest:guest@localhost:5672/"},
	{"BROKER_URL", "inproc:", "boxoffice up"},
	{"DATABASE_URL", "mysql://localhost/x", "postgres://user:password@localhost/name or sqlite:service.db"},
	{"DATABASE_URL", "sqlite::memory:", "sqlite:"},
	{"RETRY_DELAYS", "1s,soon", "1s,5s,30s"},
	{"RETRY_DELAYS", "0s", "from 1ms"},
	{"RETRY_DELAYS", "1.5ms", "whole milliseconds"},
	{"TOPOLOGY", "make", "declare or check"},
	{"LAB", "yes", "on or off"},
	{"INSTANCE", "a b", "visible ASCII"},
	{"LOG_LEVEL", "loud", "debug, info, warn or error"},
	{"LOG_FORMAT", "xml", "text or json"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "http://localhost:4318"},
	{"OTEL_EXPORTER_OTLP_PROTOCOL", "udp", "grpc or http/protobuf"},
	{"OTEL_TRACES_SAMPLER", "sometimes", "parentbased_traceidratio"},
	{"OTEL_BSP_SCHEDULE_DELAY", "soon", "whole number above 0"},
}

// own are wrong for one service.
var own = map[string][]setting{
	"booking": {
		{"BOOKING_ADDR", "5200", ":5200 or 127.0.0.1:5200"},
		{"BOOKING_ADDR", ":70000", ":5200 or 127.0.0.1:5200"},
		{"ADMISSION_ACTIVE", "0", "whole number from 1 to 100000"},
		{"ADMISSION_WAITING", "-1", "whole number from 0 to 1000000"},
		{"ADMISSION_OVERDUE", "many", "whole number from 0 to 1000000"},
		{"STALL_AFTER", "0s", "at least 1ms"},
		{"STALL_AFTER", "10", "10s"},
		{"SAGA_DEADLINE", "-1s", "at least 1ms"},
		{"SAGA_DEADLINE", "36s", "more than 36s, the sum of RETRY_DELAYS"},
		{"REDRIVE_LIMIT", "1001", "whole number from 0 to 1000"},
	},
	"seats": {
		{"SEATS_ADDR", "localhost", ":5200 or 127.0.0.1:5200"},
		{"SEATS_TOTAL", "0", "whole number from 1 to 1000000"},
		{"SEATS_TOTAL", "1.5", "whole number from 1 to 1000000"},
	},
	"payments": {
		{"PAYMENTS_ADDR", "256.0.0.1:0", "no such host"},
		{"CARD_LIMIT", "-1", "a number from 0, with at most two decimals"},
		{"CARD_LIMIT", "9.999", "a number from 0, with at most two decimals"},
		{"CARD_LIMIT", "1e400", "a number from 0, with at most two decimals"},
		{"BANK_DELAY", "200", "200ms"},
		{"BANK_DELAY", "-1s", "at least 0s"},
		{"BANK_CONCURRENCY", "0", "whole number from 1 to 10000"},
	},
}

// right lets every service start, if it were not for the one wrong setting.
var right = []string{
	"BROKER_URL=amqp://127.0.0.1:1/", "DATABASE_URL=sqlite:",
	"BOOKING_ADDR=127.0.0.1:0", "SEATS_ADDR=127.0.0.1:0", "PAYMENTS_ADDR=127.0.0.1:0",
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			for _, s := range append(common, own[service]...) {
				code, stdout, stderr := boxoffice(t, append(slices.Clip(right), s.variable+"="+s.value), service)
				line, more, _ := strings.Cut(stderr, "\n")
				if code == 0 || stdout != "" || more != "" {
					t.Errorf("%s=%s: exit %d\n%s%s", s.variable, s.value, code, stdout, stderr)
				}
				shown := `="` + s.value + `"`
				if strings.HasSuffix(s.variable, "_URL") {
					shown = `="` // and no more than is known to be harmless
				}
				for _, part := range []string{"boxoffice: ", s.variable + shown, s.allowed} {
					if !strings.Contains(line, part) {
						t.Errorf("%s=%s: no %q in %s", s.variable, s.value, part, line)
					}
				}
			}
		})
	}
}

// Every mistake is said at once, and what is needed is asked for.
func TestSeveralWrongSettings(t *testing.T) {
	t.Parallel()
	code, _, stderr := boxoffice(t, []string{"SEATS_TOTAL=x", "LAB=y", "BOOKING_ADDR=z"}, "seats")
	for _, want := range []string{"BROKER_URL is not set", "DATABASE_URL is not set", `SEATS_TOTAL="x"`, `LAB="y"`} {
		if strings.Count(stderr, "boxoffice: "+want) != 1 {
			t.Errorf("no %s in\n%s", want, stderr)
		}
	}
	if code != 2 || strings.Count(stderr, "\n") != 4 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{
		{"BROKER_URL=amqp://guest:hunter2@:/", "DATABASE_URL=sqlite:"},
		{"BROKER_URL=http://guest:hunter2@localhost", "DATABASE_URL=sqlite:"},
		{"BROKER_URL=amqp://localhost", "DATABASE_URL=mysql://me:hunter2@localhost/x"},
		{"BROKER_URL=amqp://localhost", "DATABASE_URL=postgres:me:hunter2@localhost/x"},
	} {
		if code, stdout, stderr := boxoffice(t, env, "seats"); code != 2 || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%v: exit %d\n%s%s", env, code, stdout, stderr)
		}
	}
}
