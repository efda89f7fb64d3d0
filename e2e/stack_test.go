package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/internal/testserver"
	"boxoffice/internal/verify"
	"boxoffice/tickets"
)

// services in the order in which a booking meets them.
var services = []string{tickets.Booking, tickets.Seats, tickets.Payments}

// stack is the three services, each a process with a database of its own.
type stack struct {
	t        *testing.T
	broker   *broker
	env      map[string][]string // of each service
	programs map[string]*program
	targets  verify.Targets
	http     *http.Client
	client   *client.Client
}

// newStack starts the services with these variables on the shared servers, and
// returns when they take bookings.
func newStack(t *testing.T, variables ...string) *stack {
	t.Helper()
	return newStackOn(t, func(service string) string { return testserver.SharedPostgres(t).Database(t, "e2e_"+service) }, variables...)
}

// newStackOn is newStack with databases of the caller's.
func newStackOn(t *testing.T, database func(service string) string, variables ...string) *stack {
	t.Helper()
	rabbit := testserver.SharedRabbitMQ(t)
	s := &stack{
		t: t, http: &http.Client{Transport: &http.Transport{}, Timeout: patience},
		env: map[string][]string{}, programs: map[string]*program{},
	}
	t.Cleanup(s.http.CloseIdleConnections)
	s.broker = newBroker(t, rabbit, s.http)
	urls := map[string]string{}
	for _, name := range services {
		address := fmt.Sprintf("127.0.0.1:%d", testserver.FreePort(t))
		urls[name] = "http://" + address
		s.env[name] = append([]string{
			"BROKER_URL=" + s.broker.url, "DATABASE_URL=" + database(name),
			"BOOKING_ADDR=" + address, "SEATS_ADDR=" + address, "PAYMENTS_ADDR=" + address, // each reads its own
			"INSTANCE=only", "LOG_FORMAT=json", "BANK_DELAY=20ms",
		}, variables...)
	}
	s.targets = verify.Targets{Booking: urls[tickets.Booking], Seats: urls[tickets.Seats], Payments: urls[tickets.Payments]}
	s.client = newClient(t, s.targets.Booking)
	for _, name := range services {
		s.start(name)
	}
	s.ready()
	return s
}

func newClient(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// start starts a service, for the first time or again: with the same port,
// database and settings.
func (s *stack) start(name string) {
	s.t.Helper()
	s.programs[name] = launch(s.t, s.env[name], name)
}

// ready waits until all services are, and until bookings are taken.
func (s *stack) ready() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for _, url := range []string{s.targets.Booking, s.targets.Seats, s.targets.Payments} {
		if err := newClient(s.t, url).Ready(ctx); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.client.Accepting(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// get reads a JSON document.
func (s *stack) get(ctx context.Context, url string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(v)
}

// settled waits until the invariants hold, and returns the bookings. accepted
// are those that were answered 202.
func (s *stack) settled(accepted ...uuid.UUID) []verify.Booking {
	s.t.Helper()
	return settled(s.t, s.http, s.targets, accepted...)
}

func settled(t *testing.T, c *http.Client, targets verify.Targets, accepted ...uuid.UUID) []verify.Booking {
	t.Helper()
	var bookings []verify.Booking
	eventually(t, "wait for the invariants", func(ctx context.Context) error {
		snapshot, err := verify.Take(ctx, c, targets)
		if err != nil {
			return err
		}
		bookings = snapshot.Bookings
		if found := verify.Check(snapshot, accepted...); len(found) > 0 {
			return fmt.Errorf("%d violations, the first is %s", len(found), found[0])
		}
		return nil
	})
	return bookings
}

// grace is how long a service may take to stop when nothing holds it up.
const grace = 15 * time.Second

// stop stops a service in good order.
func (s *stack) stop(name string) {
	s.t.Helper()
	began := time.Now()
	if code := s.programs[name].stop(syscall.SIGTERM); code != 0 {
		s.t.Errorf("%s ended with exit code %d", name, code)
	}
	if took := time.Since(began); took > grace {
		s.t.Errorf("%s took %s to stop", name, took)
	}
}

// end waits until no message is left, except for the parked ones, whose number
// it returns by dead queue, and stops the services.
func (s *stack) end() (dead map[string]int) {
	s.t.Helper()
	var work map[string]int
	eventually(s.t, "wait for empty queues", func(context.Context) error {
		work, dead = s.broker.depths() //nolint:contextcheck // it takes the test's own
		for _, violation := range verify.CheckQueues(work) {
			return errors.New(violation.String())
		}
		return nil
	})
	for _, name := range services {
		s.stop(name)
	}
	return dead
}

// endWell is end where nothing may have been parked.
func (s *stack) endWell() {
	s.t.Helper()
	for queue, n := range s.end() {
		if n > 0 {
			s.t.Errorf("%d messages are parked in %s", n, queue)
		}
	}
}
