package config_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"boxoffice/internal/config"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bookingCommand struct {
	config.Log
	config.Connections
	config.Service
	config.Booking
}

func (c bookingCommand) Check() error {
	if err := c.Connections.Check(); err != nil {
		return err
	}
	return c.CheckDeadline(c.Service)
}

type cli struct {
	Booking  bookingCommand         `cmd:""`
	Seats    struct{ config.Seats } `cmd:""`
	Payments struct {
		config.Log
		config.Payments
	} `cmd:""`
}

// run parses args with these variables, and no other of ours.
func run(t *testing.T, variables map[string]string, args ...string) (cli, error) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "BOOKING_") || name == "INSTANCE" || name == "LAB" {
			t.Setenv(name, value) // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
	var c cli
	reader := config.NewReader()
	parser, err := kong.New(&c, reader.Option())
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return c, reader.Check(ctx)
}

var urls = map[string]string{"BROKER_URL": "amqp://u:p@h:1/", "DATABASE_URL": "postgres://u:p@h/n"}

func with(more map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, urls)
	maps.Copy(all, more)
	return all
}

func TestDefaults(t *testing.T) {
	c, err := run(t, with(map[string]string{"BOOKING_ADDR": "", "ADMISSION_OVERDUE": "", "LAB": ""}), "booking")
	if err != nil {
		t.Fatal(err)
	}
	b := c.Booking
	got := fmt.Sprint(b.LogLevel, b.LogFormat, b.BookingAddr, b.AdmissionActive, b.AdmissionWaiting, b.Overdue(), b.StallAfter,
		b.SagaDeadline, b.RedriveLimit, b.RetryDelays, b.HoldLimit, b.Topology, b.LabOn(false), b.LabOn(true), b.Prefetch)
	want := fmt.Sprint(slog.LevelInfo, "text", ":5200", 64, 256, 64, 10*time.Second, time.Minute, 5,
		[]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}, 15*time.Minute, messaging.TopologyDeclare, false, true, 256)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if host, _ := os.Hostname(); b.Instance.Name() != host {
		t.Errorf("instance %q, want %q", b.Instance.Name(), host)
	}
	p, err := run(t, nil, "payments")
	if err != nil || p.Payments.CardLimit != tickets.MustAmount("1000") || p.Payments.BankDelay != 200*time.Millisecond {
		t.Errorf("%+v %v", p.Payments, err)
	}
}

func TestValuesAreRead(t *testing.T) {
	c, err := run(t, with(map[string]string{
		"ADMISSION_OVERDUE": "0", "LAB": "off", "INSTANCE": "b1", "LOG_LEVEL": "WARN", "LOG_FORMAT": "json",
		"RETRY_DELAYS": "10ms, 20ms", "SAGA_DEADLINE": "31ms", "TOPOLOGY": "check", "HOLD_LIMIT": "4s",
		"ALLOWED_HOSTS": "tickets.example.org, box.local.",
	}), "booking", "--admission-active=2", "--booking-addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := c.Booking
	if b.Overdue() != 0 || b.LabOn(true) || b.Instance.Name() != "b1" || b.LogLevel != slog.LevelWarn || b.LogFormat != "json" ||
		!slices.Equal(b.AllowedHosts, []string{"tickets.example.org", "box.local."}) || len(b.RetryDelays) != 2 || b.HoldLimit != 4*time.Second ||
		b.Topology != messaging.TopologyCheck || b.AdmissionActive != 2 || b.BookingAddr != "127.0.0.1:0" {
		t.Errorf("%+v", b)
	}
	if got := config.Address(":5200").Local(); got != "127.0.0.1:5200" {
		t.Errorf("local address %s", got)
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		name, value, command, want string
	}{
		{"BANK_DELAY", "abc", "payments", `BANK_DELAY="abc" is not a duration; use for example 200ms`},
		{"BANK_DELAY", "200", "payments", `BANK_DELAY="200" is not a duration; use for example 200ms`},
		{"BANK_DELAY", "-1s", "payments", `BANK_DELAY="-1s" must be at least 0s`},
		{"BANK_CONCURRENCY", "0", "payments", `BANK_CONCURRENCY="0" is not a whole number from 1 to 10000`},
		{"CARD_LIMIT", "1.005", "payments", `CARD_LIMIT="1.005" is not an amount; use a number from 0, with at most two decimals`},
		{"CARD_LIMIT", "-1", "payments", `CARD_LIMIT="-1" is not an amount; use a number from 0, with at most two decimals`},
		{"LOG_LEVEL", "loud", "payments", `LOG_LEVEL="loud" is not known; use debug, info, warn or error`},
		{"LOG_FORMAT", "xml", "payments", `LOG_FORMAT="xml" is not known; use text or json`},
		{"PAYMENTS_ADDR", "5202", "payments", `PAYMENTS_ADDR="5202" is not an address; use for example :5200 or 127.0.0.1:5200`},
		{"PAYMENTS_ADDR", ":99999", "payments", `PAYMENTS_ADDR=":99999" is not an address; use for example :5200 or 127.0.0.1:5200`},
		{"SEATS_TOTAL", "1e3", "seats", `SEATS_TOTAL="1e3" is not a whole number from 1 to 1000000`},
		{"ADMISSION_OVERDUE", "-1", "booking", `ADMISSION_OVERDUE="-1" is not a whole number from 0 to 1000000`},
		{"LAB", "yes", "booking", `LAB="yes" is not known; use on or off`},
		{"ALLOWED_HOSTS", "http://h.example", "booking", `ALLOWED_HOSTS="http://h.example" is not a list of host names, without scheme, port or *; use for example tickets.example.org,box.local`},
		{"ALLOWED_HOSTS", "h.example:80", "booking", `ALLOWED_HOSTS="h.example:80" is not a list of host names, without scheme, port or *; use for example tickets.example.org,box.local`},
		{"ALLOWED_HOSTS", "*.example", "booking", `ALLOWED_HOSTS="*.example" is not a list of host names, without scheme, port or *; use for example tickets.example.org,box.local`},
		{"ALLOWED_HOSTS", "a.example,,b.example", "booking", `ALLOWED_HOSTS="a.example,,b.example" is not a list of host names, without scheme, port or *; use for example tickets.example.org,box.local`},
		{"TOPOLOGY", "x", "booking", `TOPOLOGY="x" is not known; use declare or check`},
		{"INSTANCE", "a b", "booking", `INSTANCE="a b" is not a name; use 1 to 100 visible ASCII characters`},
		{"RETRY_DELAYS", "1s,x", "booking", `RETRY_DELAYS="1s,x" is not a list of durations; use for example 1s,5s,30s`},
		{"RETRY_DELAYS", "1us", "booking", `RETRY_DELAYS="1us" must have delays from 1ms to 24h0m0s, in whole milliseconds`},
		{"SAGA_DEADLINE", "36s", "booking", `SAGA_DEADLINE="36s" must be more than 36s, the sum of RETRY_DELAYS`},
		{"BROKER_URL", "", "booking", `BROKER_URL is not set; use for example amqp://guest:guest@localhost:5672/ (or run all services in one process with: boxoffice up)`},
		{"DATABASE_URL", "", "booking", `DATABASE_URL is not set; use for example postgres://user:password@localhost/name or sqlite:service.db`},
		{"BROKER_URL", "amqp://", "booking", `BROKER_URL="amqp:…" is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)`},
		{"BROKER_URL", "FTP://h?x=a+b#", "booking", `BROKER_URL="…" is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)`},
		{"BROKER_URL", "amqp://u:hunter2@", "booking", `BROKER_URL="amqp:…" is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)`},
		{"BROKER_URL", "http://u:hunter2@h", "booking", `BROKER_URL="http:…" is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)`},
		{"BROKER_URL", "amqp://u:hunter2 @h:x", "booking", `BROKER_URL="amqp:…" is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)`},
		{"DATABASE_URL", "sqlite://u:hunter2@h/n", "booking", `DATABASE_URL="sqlite:…" is not a database; use for example postgres://user:password@localhost/name or sqlite:service.db (in a password or a setting @ is %40)`},
		{"DATABASE_URL", "mysql://h/n?password=hunter2", "booking", `DATABASE_URL="mysql:…" is not a database; use for example postgres://user:password@localhost/name or sqlite:service.db (in a password or a setting @ is %40)`},
		{"DATABASE_URL", "sqlite::memory:", "booking", `DATABASE_URL="sqlite::memory:" would be a database of each connection's own; use sqlite: for a temporary one`},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			_, err := run(t, with(map[string]string{test.name: test.value}), test.command)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	_, err := run(t, with(map[string]string{"BROKER_URL": "inproc:"}), "booking")
	if err == nil || !strings.HasPrefix(err.Error(), `BROKER_URL="inproc:" is a broker inside one process`) {
		t.Errorf("inproc: %v", err)
	}
}

func TestAllMistakesAreSaidAtOnceAndOnlyOnes(t *testing.T) {
	variables := map[string]string{"BANK_DELAY": "abc", "CARD_LIMIT": "x", "SEATS_TOTAL": "0", "BROKER_URL": "?"}
	_, err := run(t, variables, "payments", "--bank-concurrency=many")
	want := "CARD_LIMIT=\"x\" is not an amount; use a number from 0, with at most two decimals\n" +
		"BANK_DELAY=\"abc\" is not a duration; use for example 200ms\n" +
		"--bank-concurrency=\"many\" is not a whole number from 1 to 10000"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	c, err := run(t, variables, "payments", "--bank-delay=1s", "--card-limit=2")
	if err != nil || c.Payments.BankDelay != time.Second {
		t.Errorf("a right flag does not win over a wrong variable: %v", err)
	}
	if _, err = run(t, map[string]string{"BANK_DELAY": "1s"}, "payments", "--bank-delay=abc"); err == nil {
		t.Error("a wrong flag was taken")
	}
}

func TestURLsPrintWithoutPasswords(t *testing.T) {
	for _, text := range []string{
		"amqp://u:hunter2@h/", "postgres://u:hunter2@h/n", "postgres://h/n?password=hunter2&sslpassword=hunter2", "postgres:u:hunter2@h", "amqp://u:hunter2@[::1",
	} {
		if got := fmt.Sprintf("%v %+v %s", config.BrokerURL(text), struct{ U config.DatabaseURL }{config.DatabaseURL(text)}, config.DatabaseURL(text)); strings.Contains(got, "hunter2") {
			t.Errorf("%s prints as %s", text, got)
		}
	}
}
