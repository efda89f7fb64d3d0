package payments

import (
	"os"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/participant"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/internal/testserver"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	participanttest.OnBoth(t, tickets.Payments, test)
}

// replica is one payments service on a database, with its log.
type replica struct {
	*Service
	logs *participanttest.Log
}

// newService is a service on a database that is not prepared.
func newService(t *testing.T, url string, broker messaging.Broker, cfg Config) replica {
	t.Helper()
	deps, logs := participanttest.Deps(t, tickets.Payments, url, broker)
	s := New(cfg, deps)
	t.Cleanup(s.close)
	return replica{s, logs}
}

// newReplica is a service whose handlers can be called.
func newReplica(t *testing.T, url string, bank Bank) replica {
	t.Helper()
	return prepared(t, newService(t, url, participanttest.Deaf{}, Config{Bank: bank}))
}

// newLabReplica is one with the lab, which it looks at only when it is told to.
func newLabReplica(t *testing.T, url string, bank Bank) replica {
	t.Helper()
	r := prepared(t, newService(t, url, participanttest.Deaf{}, Config{Settings: participant.Settings{Lab: true, AllowedHosts: []string{"example.com"}}, Bank: bank}))
	r.look(t)
	return r
}

func prepared(t *testing.T, r replica) replica {
	t.Helper()
	participanttest.Migrate(t, tickets.Payments, r.store.db, migrationFiles)
	return r
}

// plain is a bank without delay.
func plain() Bank { return Bank{Limit: tickets.MustAmount("1000")} }

var (
	affordable = tickets.MustAmount("450.5")
	tooMuch    = tickets.MustAmount("1000.01")
)

func seatReserved(id uuid.UUID, amount tickets.Amount) tickets.SeatReserved {
	return tickets.SeatReserved{BookingID: id, Seat: 5, Amount: amount}
}

func succeeded(id uuid.UUID) messaging.Event { return tickets.PaymentSucceeded{BookingID: id} }

func failed(id uuid.UUID) messaging.Event {
	return tickets.PaymentFailed{BookingID: id, Seat: 5, Reason: "insufficient funds"}
}

// expect hands e over as a delivery would and compares the one event that came of it.
func (r replica) expect(t *testing.T, e tickets.SeatReserved, want messaging.Event) {
	t.Helper()
	events, err := r.seatReserved(t.Context(), e)
	if err != nil || len(events) != 1 || events[0] != want {
		t.Errorf("%+v: got %+v, %v, want %T %+v", e, events, err, want, want)
	}
}

// expectRow compares the booking's payment and how often the bank charged for it.
func (r replica) expectRow(t *testing.T, id uuid.UUID, status Status, charges int) {
	t.Helper()
	v, err := r.store.get(t.Context(), id)
	if err != nil || v.Status != status || v.charges != charges {
		t.Errorf("got %+v, %v, want %s and %d charges", v, err, status, charges)
	}
}

// entry is the bank's ledger for a booking; nil if it was never asked.
func (r replica) entry(t *testing.T, id uuid.UUID) *Entry {
	t.Helper()
	e, err := r.bank.ledger.find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
