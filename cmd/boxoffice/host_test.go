package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/internal/participant"
	"boxoffice/messaging"
)

// actor is a service that does as it is told.
type actor struct{ run func(context.Context) error }

func (a actor) build(participant.Settings, participant.Deps) service { return a }

func (a actor) Handler() http.Handler         { return http.NotFoundHandler() }
func (a actor) Run(ctx context.Context) error { return a.run(ctx) }

func openActor(t *testing.T, name string, run func(context.Context) error) *host {
	t.Helper()
	p := process{broker: brokerAt("inproc:"), logs: io.Discard, shared: true}
	h, err := p.open(t.Context(), name, place{address: "127.0.0.1:0", variable: "ADDR", database: "sqlite:"}, actor{run})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func obedient(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func TestOneFailureStopsAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("cannot go on")
	stopped := make(chan struct{})
	hs := hosts{
		openActor(t, "good", func(ctx context.Context) error {
			defer close(stopped)
			return obedient(ctx)
		}),
		openActor(t, "bad", func(context.Context) error { return broken }),
	}
	if err := hs.run(t.Context()); !errors.Is(err, broken) || err.Error() != "bad: cannot go on" {
		t.Errorf("%v", err)
	}
	<-stopped
	for _, h := range hs {
		if err := h.db.Ping(); err == nil {
			t.Errorf("the database of %s is open", h.name)
		}
		if err := h.broker.Ready(); err == nil {
			t.Errorf("the broker of %s is open", h.name)
		}
		if c, err := new(http.Client).Get(h.url()); err == nil {
			_ = c.Body.Close()
			t.Errorf("%s listens", h.name)
		}
	}
}

func TestHostEnds(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	h := openActor(t, "good", obedient)
	stop()
	if err := h.run(ctx); err != nil {
		t.Errorf("a clean stop returned %v", err)
	}
	h = openActor(t, "lazy", func(context.Context) error { return nil })
	if err := h.run(t.Context()); err == nil || err.Error() != "lazy: stopped by itself" {
		t.Errorf("%v", err)
	}
}

func TestOpenThatFailsClosesWhatItOpened(t *testing.T) {
	t.Parallel()
	var s scene
	if err := config.Defaults(&s); err != nil {
		t.Fatal(err)
	}
	s.BookingAddr, s.SeatsAddr, s.PaymentsAddr = "127.0.0.1:0", "127.0.0.1:0", "256.0.0.1:0"
	if _, err := s.open(t.Context(), process{broker: brokerAt("inproc:"), logs: io.Discard}, ""); err == nil {
		t.Error("no error") // goroutines and files left behind fail the package
	}
}

// connectReady waits for a service to be ready.
func connectReady(t *testing.T, url string, door bool) error {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Ready(ctx); err != nil || !door {
		return err
	}
	return c.Accepting(ctx)
}

// A service of its own that forgets everything with its process says so; up,
// all of whose services end together, does not.
func TestATemporaryDatabaseIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		database config.DatabaseURL
		shared   bool
		told     bool
	}{{"sqlite:", false, true}, {"sqlite:", true, false}, {config.DatabaseURL("sqlite:" + t.TempDir() + "/a.db"), false, false}} {
		var logs strings.Builder
		p := process{broker: brokerAt("inproc:"), logs: &logs, shared: test.shared}
		h, err := p.open(t.Context(), "seats", place{address: "127.0.0.1:0", variable: "ADDR", database: test.database}, actor{obedient})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.close(t.Context()); err != nil {
			t.Error(err)
		}
		if told := strings.Contains(logs.String(), "DATABASE_URL=sqlite: is a temporary file"); told != test.told {
			t.Errorf("%s, shared %v: it logs %q", test.database, test.shared, &logs)
		}
	}
}

// hasty is a broker that is left before everything was confirmed.
type hasty struct{ messaging.Broker }

func (b hasty) Close(ctx context.Context) error {
	return errors.Join(b.Broker.Close(ctx), errors.New("1 publishes are unconfirmed"))
}

// Under an alarm the broker confirms nothing, but what it was to confirm is in
// a row or a queue: that is a warning, not a failure.
func TestUnconfirmedPublishesAreNoFailure(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	p := process{broker: brokerAt("inproc:"), logs: &logs, shared: true}
	h, err := p.open(t.Context(), "booking", place{address: "127.0.0.1:0", variable: "ADDR", database: "sqlite:"}, actor{obedient})
	if err != nil {
		t.Fatal(err)
	}
	h.broker = hasty{h.broker}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.run(ctx); err != nil {
		t.Errorf("a stop under an alarm returned %v", err)
	}
	if n := strings.Count(logs.String(), "1 publishes are unconfirmed"); n != 1 {
		t.Errorf("%d warnings: %s", n, &logs)
	}
}

// leaving is a service that gave up starting two bookings.
type leaving struct{ service }

func (leaving) Unfinished() int { return 2 }

func TestOneWarningOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	p := process{broker: brokerAt("inproc:"), logs: &logs, shared: true}
	h, err := p.open(t.Context(), "booking", place{address: "127.0.0.1:0", variable: "ADDR", database: "sqlite:"}, actor{obedient})
	if err != nil {
		t.Fatal(err)
	}
	h.broker, h.service = hasty{h.broker}, leaving{h.service}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.run(ctx); err != nil {
		t.Error(err)
	}
	text := logs.String()
	if strings.Count(text, "the broker was left before everything was confirmed") != 1 ||
		!strings.Contains(text, `"bookings not begun"=2`) || !strings.Contains(text, "1 publishes are unconfirmed") {
		t.Errorf("it logs %s", text)
	}
}

// What is wrong with a broker's URL is said, and nothing was opened yet.
func TestBrokerURLThatTheClientRefuses(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"heartbeat=x", "heartbeat=-5", "channel_max=70000", "channel_max=x", "connection_timeout=x", "auth_mechanism=hunter2"} {
		for _, name := range []string{"booking", "seats", "payments"} {
			code, stdout, stderr := boxoffice(t, []string{"BROKER_URL=amqp://u:p@127.0.0.1:1/?" + query, "DATABASE_URL=sqlite:", "ADDR=127.0.0.1:0"}, name)
			if code != 1 && code != 2 || stdout != "" || !strings.HasPrefix(stderr, "boxoffice: BROKER_URL: the broker's URL ") || strings.Contains(stderr, "panic") || strings.Contains(stderr, "hunter2") {
				t.Errorf("%s with %s: exit %d\n%s%s", name, query, code, stdout, stderr)
			}
		}
	}
}
