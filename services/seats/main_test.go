package seats

import (
	"context"
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

const total = 10 // seats of the hall in these tests

func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	participanttest.OnBoth(t, tickets.Seats, test)
}

// replica is one seats service on a database, with its log.
type replica struct {
	*Service
	logs *participanttest.Log
}

// newService is a service on a database that is not prepared.
func newService(t *testing.T, url string, broker messaging.Broker, lab bool) replica {
	t.Helper()
	deps, logs := participanttest.Deps(t, tickets.Seats, url, broker)
	s := New(Config{Settings: participant.Settings{Lab: lab, AllowedHosts: []string{"example.com"}}, Total: total}, deps)
	t.Cleanup(s.store.close)
	return replica{s, logs}
}

// newReplica is a service whose handlers can be called.
func newReplica(t *testing.T, url string) replica {
	t.Helper()
	return prepared(t, newService(t, url, participanttest.Deaf{}, false))
}

func prepared(t *testing.T, r replica) replica {
	t.Helper()
	participanttest.Migrate(t, tickets.Seats, r.store.db, migrationFiles)
	return r
}

var price = tickets.MustAmount("450.5")

func created(id uuid.UUID, seat int) tickets.BookingCreated {
	return tickets.BookingCreated{BookingID: id, Seat: seat, Customer: "olena", Amount: price}
}

func failed(id uuid.UUID, seat int) tickets.PaymentFailed {
	return tickets.PaymentFailed{BookingID: id, Seat: seat, Reason: "insufficient funds"}
}

func reserved(id uuid.UUID, seat int) messaging.Event {
	return tickets.SeatReserved{BookingID: id, Seat: seat, Amount: price}
}

func rejected(id uuid.UUID, seat int) messaging.Event {
	return tickets.SeatRejected{BookingID: id, Seat: seat, Reason: "seat is taken or does not exist"}
}

func released(id uuid.UUID, seat int) messaging.Event {
	return tickets.SeatReleased{BookingID: id, Seat: seat, Reason: "insufficient funds"}
}

// hand gives an event to the replica as a delivery would, and returns the one
// event that came of it, or nil.
func (r replica) hand(t *testing.T, e messaging.Event) messaging.Event {
	t.Helper()
	events, err := r.handle(t.Context(), e)
	if err != nil {
		t.Fatalf("%s: %v", messaging.EventName(e), err)
	}
	switch len(events) {
	case 0:
		return nil
	case 1:
		return events[0]
	}
	t.Fatalf("%s: %d events: %v", messaging.EventName(e), len(events), events)
	return nil
}

func (r replica) handle(ctx context.Context, e messaging.Event) ([]messaging.Event, error) {
	switch e := e.(type) {
	case tickets.BookingCreated:
		return r.bookingCreated(ctx, e)
	case tickets.PaymentFailed:
		return r.paymentFailed(ctx, e)
	}
	panic("not an event of seats")
}

// expect hands e over and compares what came of it.
func (r replica) expect(t *testing.T, e, want messaging.Event) {
	t.Helper()
	if got := r.hand(t, e); got != want {
		t.Errorf("%s %+v: got %T %+v, want %T %+v", messaging.EventName(e), e, got, got, want, want)
	}
}

// row is the reservation as it stands in the database.
func (r replica) row(t *testing.T, id uuid.UUID) Reservation {
	t.Helper()
	row, err := r.store.get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
