package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/internal/testserver"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

// onEachDatabase runs the one store suite: a test gets a function that opens
// stores, as replicas, on one fresh database.
func onEachDatabase(t *testing.T, test func(t *testing.T, open func(instance string) *Store)) {
	t.Helper()
	participanttest.OnBoth(t, tickets.Booking, func(t *testing.T, url string) {
		test(t, func(instance string) *Store { return openStore(t, url, instance) })
	})
}

func openStore(t *testing.T, url, instance string) *Store {
	t.Helper()
	db, err := database.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, instance, time.Minute, time.Now)
	t.Cleanup(func() {
		s.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	participanttest.Migrate(t, tickets.Booking, db, migrationFiles)
	return s
}

// pass lets time pass: it moves all deadlines nearer, or away.
func pass(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE bookings SET started_at = started_at - $1, redrive_at = redrive_at - $1 WHERE started_at > 0`,
		`UPDATE instances SET seen_at = seen_at - $1`,
	} {
		if _, err := s.db.ExecContext(t.Context(), statement, d.Microseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

func newOrder(seat int) row.Order {
	now := time.Now()
	return row.Order{
		Booking: row.Booking{
			ID: uuid.Must(uuid.NewV7()), Seat: seat, Customer: "olena \"ї\" <o@x>", Amount: tickets.MustAmount("450.5"),
			Status: row.Pending, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", CreatedAt: now, UpdatedAt: now,
		},
		Carrier: row.Carrier{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Started: true,
	}
}

func insert(t *testing.T, s *Store, o row.Order) row.Order {
	t.Helper()
	if ok, err := s.Insert(t.Context(), o); err != nil || !ok {
		t.Fatalf("insert: %v, %v", ok, err)
	}
	return o
}

func mustSettle(t *testing.T, s *Store, o row.Outcome) Settled {
	t.Helper()
	got, err := s.Settle(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStoreKeepsABooking(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		o := insert(t, s, newOrder(5))
		insert(t, s, o) // twice is once
		got, err := s.Get(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := o.Booking
		want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Microsecond)
		want.UpdatedAt = want.CreatedAt
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if _, err := s.Get(t.Context(), uuid.New()); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unknown booking: %v", err)
		}
		mine, err := s.Mine(t.Context())
		if err != nil || len(mine) != 1 || mine[0].Carrier["traceparent"] != o.Carrier["traceparent"] {
			t.Errorf("unfinished: %+v, %v", mine, err)
		}
	})
}

// Whatever an event may say comes out of the database as it went in.
func TestStoreKeepsEveryReason(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		for _, reason := range []string{
			"\x01", "\t\r\n", "\x7f\u0085", "\u2028\ufeff", "\ufffd", "𝄞 ї", `"\ \u0000 '`, "null", strings.Repeat("ї", tickets.MaxText/2),
		} {
			o := insert(t, s, newOrder(5))
			mustSettle(t, s, row.Outcome{ID: o.ID, Status: row.Rejected, Reason: reason})
			if b, err := s.Get(t.Context(), o.ID); err != nil || b.Reason != reason {
				t.Errorf("%q: %q, %v", reason, b.Reason, err)
			}
		}
	})
}

// Every outcome in every state that earlier outcomes lead to, in every order
// of two, and each twice: the store does as the state machine says.
func TestStoreFollowsTheStateMachine(t *testing.T) {
	outcomes := []row.Outcome{
		{Status: row.Confirmed},
		{Status: row.Rejected, Reason: "taken"},
		{Status: row.Cancelled, Reason: "no money"},
		{Status: row.Cancelled, Reason: "no money", Released: true},
	}
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		for _, first := range outcomes {
			for _, second := range outcomes {
				b := insert(t, s, newOrder(5))
				want := b.State()
				for _, o := range []row.Outcome{first, first, second, second, first} {
					o.ID = b.ID
					next, v := want.Next(o)
					got := mustSettle(t, s, o)
					if !got.Known || got.Verdict != v || got.Was != want && got.Verdict != row.Changes {
						t.Errorf("%+v after %+v: %+v, want verdict %d", o, want, got, v)
					}
					want = next
					stored, err := s.Get(t.Context(), b.ID)
					if err != nil || stored.State() != want {
						t.Fatalf("%+v left %+v, %v; want %+v", o, stored.State(), err, want)
					}
				}
			}
		}
		if got := mustSettle(t, s, row.Outcome{ID: uuid.New(), Status: row.Confirmed}); got.Known {
			t.Error("an unknown booking was settled")
		}
	})
}

// Contradicting outcomes from two replicas at once: one wins, on each booking.
func TestStoreSettlesOnceUnderConcurrency(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		a, b := open("a"), open("b")
		var orders []row.Order
		for i := range 40 {
			orders = append(orders, insert(t, a, newOrder(i+1)))
		}
		var wins sync.Map
		var running sync.WaitGroup
		for _, o := range orders {
			for i, s := range []*Store{a, b, a, b} {
				status := []row.Status{row.Confirmed, row.Cancelled}[i%2]
				running.Go(func() {
					got, err := s.Settle(context.WithoutCancel(t.Context()), row.Outcome{ID: o.ID, Status: status})
					if err != nil {
						t.Error(err)
					}
					if got.Verdict == row.Changes {
						if _, twice := wins.LoadOrStore(o.ID, status); twice {
							t.Errorf("booking %s was settled twice", o.ID)
						}
					}
				})
			}
		}
		running.Wait()
		for _, o := range orders {
			got, err := a.Get(t.Context(), o.ID)
			won, ok := wins.Load(o.ID)
			if err != nil || !ok || got.Status != won {
				t.Errorf("booking %s is %s, won by %v, %v", o.ID, got.Status, won, err)
			}
		}
	})
}

func TestStorePages(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		var want []uuid.UUID
		for i := range 7 {
			o := insert(t, s, newOrder(i+1))
			if i%2 == 0 {
				mustSettle(t, s, row.Outcome{ID: o.ID, Status: row.Confirmed})
			}
			want = append(want, o.ID)
		}
		var got []uuid.UUID
		for after := (uuid.UUID{}); ; {
			page, err := s.List(t.Context(), "", after, 3)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, b := range page {
				got = append(got, b.ID)
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if page, err := s.List(t.Context(), row.Confirmed, uuid.UUID{}, 10); err != nil || len(page) != 4 {
			t.Errorf("%d confirmed, %v", len(page), err)
		}
	})
}

// A store that is down says so in time, blames no booking, and works again.
func TestStoreOutage(t *testing.T) {
	pg := testserver.PostgreSQL(t)
	s := openStore(t, pg.Database(t, "booking"), "a")
	o := insert(t, s, newOrder(1))
	pg.Kill(t)
	for _, err := range []error{
		func() error { _, err := s.Insert(t.Context(), newOrder(2)); return err }(),
		func() error {
			_, err := s.Settle(t.Context(), row.Outcome{ID: o.ID, Status: row.Confirmed})
			return err
		}(),
	} {
		if err == nil || database.BlamesRow(err) {
			t.Errorf("while the store is down: %v", err)
		}
	}
	pg.Start(t)
	deadline := time.Now().Add(30 * time.Second)
	for {
		got, err := s.Settle(t.Context(), row.Outcome{ID: o.ID, Status: row.Confirmed})
		if err == nil && got.Verdict == row.Changes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(fmt.Errorf("still down: %w", err))
		}
	}
}

func TestStoreKeepsKeys(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		a, b := open("a"), open("b")
		first := newOrder(1)
		first.Key = "k1"
		insert(t, a, first)
		insert(t, a, first) // an insert whose answer was lost is repeated
		second := newOrder(2)
		second.Key = "k1"
		if ok, err := b.Insert(t.Context(), second); err != nil || ok {
			t.Errorf("a second booking with the key: %v, %v", ok, err)
		}
		insert(t, b, newOrder(3)) // without a key nothing collides
		insert(t, b, newOrder(3))
		got, err := b.ByKey(t.Context(), "k1")
		if err != nil || got == nil || got.ID != first.ID || got.Customer != first.Customer {
			t.Errorf("by key: %+v, %v", got, err)
		}
		if got, err := b.ByKey(t.Context(), "k2"); err != nil || got != nil {
			t.Errorf("by an unknown key: %+v, %v", got, err)
		}
	})
}

func TestStoreUndoesWhatMayBeWritten(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		written, notWritten, kept := insert(t, s, newOrder(1)), newOrder(2), insert(t, s, newOrder(3))
		keyed, keyedNotWritten := newOrder(4), newOrder(5)
		keyed.Key, keyedNotWritten.Key = "a", "b"
		insert(t, s, keyed) // a retry with its key may have been told of it
		left, err := s.Remove(t.Context(), []row.Order{written, notWritten, keyed, keyedNotWritten})
		if err != nil || len(left) != 1 || left[0] != keyed.ID {
			t.Fatalf("kept %v, %v; want the keyed one", left, err)
		}
		page, err := s.List(t.Context(), "", uuid.UUID{}, 10)
		if err != nil || len(page) != 2 || page[0].ID != kept.ID || page[1].ID != keyed.ID {
			t.Errorf("left: %+v, %v", page, err)
		}
	})
}
