package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/internal/testserver"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/services/booking"
	"boxoffice/services/payments"
	"boxoffice/services/seats"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

const patience = 3 * time.Minute

func TestBesideTheServices(t *testing.T) {
	t.Run("inproc", func(t *testing.T) {
		server := inproc.New(inproc.Options{})
		beside(t, func(service string) messaging.Broker { return server.Connect(service) })
	})
	t.Run("rabbitmq", func(t *testing.T) {
		url := testserver.SharedRabbitMQ(t).VHost(t, "notify")
		beside(t, func(service string) messaging.Broker {
			b, err := rabbitmq.Open(url, rabbitmq.Options{Name: service})
			if err != nil {
				t.Fatal(err)
			}
			return b
		})
	})
}

// beside runs it beside the real services: customers hear of each outcome, and
// the invariants hold as they do without it.
func beside(t *testing.T, connect func(service string) messaging.Broker) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	settings := participant.Settings{
		Instance: "only", RetryDelays: []time.Duration{time.Second, 5 * time.Second}, Topology: messaging.TopologyDeclare, Grace: patience,
	}
	targets := verify.Targets{
		Booking: serve(t, tickets.Booking, connect, func(d participant.Deps) runner {
			return booking.New(booking.Config{
				Settings: settings, Limits: booking.Limits{Active: 10, Waiting: 10, Overdue: 10}, SagaDeadline: time.Hour, RedriveLimit: 1, StallAfter: time.Hour,
			}, d)
		}),
		Seats: serve(t, tickets.Seats, connect, func(d participant.Deps) runner {
			return seats.New(seats.Config{Settings: settings, Total: 10}, d)
		}),
		Payments: serve(t, tickets.Payments, connect, func(d participant.Deps) runner {
			return payments.New(payments.Config{Settings: settings, Bank: payments.Bank{Limit: tickets.MustAmount("1000"), Concurrency: 4}}, d)
		}),
	}
	broker := connect(service)
	read, write := io.Pipe()
	running := make(chan error, 1)
	stopping, stop := context.WithCancel(ctx)
	go func() {
		running <- errors.Join(notify(stopping, broker, write, slog.New(slog.DiscardHandler)), write.Close())
	}()
	t.Cleanup(func() { stop(); _ = broker.Close(context.WithoutCancel(ctx)) })

	c, err := client.New(targets.Booking)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Accepting(ctx); err != nil {
		t.Fatal(err)
	}
	for !declared(ctx, broker) { // what was published before nobody hears
		if ctx.Err() != nil {
			t.Fatal("its queues are not declared")
		}
	}
	var want []string
	for _, w := range []struct {
		seat         int
		amount, says string
	}{{1, "10", "paid, see you"}, {1, "10", "seat 1 is not yours"}, {2, "2000", "your card was declined for seat 2"}} {
		b, err := c.Book(ctx, client.Wish{Seat: w.seat, Customer: "olena", Amount: tickets.MustAmount(w.amount)})
		if err == nil {
			b, err = c.Finish(ctx, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%v: %s", b.ID, w.says))
	}
	lines := bufio.NewScanner(read)
	for missing := slices.Clone(want); len(missing) > 0 && lines.Scan(); {
		missing = slices.DeleteFunc(missing, func(s string) bool { return strings.HasPrefix(lines.Text(), s) })
		if !regexp.MustCompile(`^[0-9a-f-]{36}: `).MatchString(lines.Text()) {
			t.Errorf("it says %q", lines.Text())
		}
	}
	snapshot, err := verify.Take(ctx, http.DefaultClient, targets)
	if err != nil {
		t.Fatal(err)
	}
	if found := verify.Check(snapshot); len(found) > 0 || len(snapshot.Bookings) != len(want) {
		t.Errorf("%d bookings, %d violations: %v", len(snapshot.Bookings), len(found), found)
	}
	stop()
	if err := <-running; err != nil {
		t.Error(err)
	}
	for _, q := range own().Queues {
		err := broker.Browse(ctx, q.Name, func(context.Context, messaging.Message) (bool, error) {
			t.Errorf("a message is left in %s", q.Name)
			return false, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func declared(ctx context.Context, b messaging.Broker) bool {
	return b.Declare(ctx, own(), messaging.TopologyCheck) == nil
}

type runner interface {
	Handler() http.Handler
	Run(ctx context.Context) error
}

// serve runs a service until the test ends and returns its address.
func serve(t *testing.T, name string, connect func(service string) messaging.Broker, build func(participant.Deps) runner) string {
	t.Helper()
	db, err := database.Open("sqlite:" + filepath.Join(t.TempDir(), name+".db"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	tel, err := telemetry.New(ctx, telemetry.Options{Service: name, Shared: true, LogOutput: io.Discard, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b := connect(name)
	s := build(participant.Deps{DB: db, Broker: b, Telemetry: tel})
	server := httptest.NewServer(s.Handler())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		server.Close()
		cancel()
		after := context.WithoutCancel(ctx)
		if err := errors.Join(<-done, b.Close(after), tel.Shutdown(after), db.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return server.URL
}
