package booking

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/testserver"
	"boxoffice/tickets"
)

// onEachDatabase runs the one store suite: a test gets a function that opens
// stores, as replicas, on one fresh database.
func onEachDatabase(t *testing.T, test func(t *testing.T, open func(instance string) *store)) {
	t.Helper()
	for name, fresh := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + t.TempDir() + "/booking.db" },
		"PostgreSQL": func(t *testing.T) string { return testserver.SharedPostgres(t).Database(t, "booking") },
	} {
		t.Run(name, func(t *testing.T) {
			url := fresh(t)
			test(t, func(instance string) *store { return openStore(t, url, instance) })
		})
	}
}

func openStore(t *testing.T, url, instance string) *store {
	t.Helper()
	db, err := database.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(db, instance, time.Minute)
	t.Cleanup(func() {
		s.close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), participant.Schema(tickets.Booking, migrations)); err != nil {
		t.Fatal(err)
	}
	return s
}

func newOrder(seat int) order {
	now := time.Now()
	return order{
		Booking: Booking{
			ID: uuid.Must(uuid.NewV7()), Seat: seat, Customer: "olena \"ї\" <o@x>", Amount: tickets.MustAmount("450.5"),
			Status: Pending, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", CreatedAt: now, UpdatedAt: now,
		},
		carrier: carrier{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		started: now,
	}
}

func insert(t *testing.T, s *store, o order) order {
	t.Helper()
	if ok, err := s.insert(t.Context(), o); err != nil || !ok {
		t.Fatalf("insert: %v, %v", ok, err)
	}
	return o
}

func mustSettle(t *testing.T, s *store, o outcome) settled {
	t.Helper()
	got, err := s.settle(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStoreKeepsABooking(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s := open("a")
		o := insert(t, s, newOrder(5))
		insert(t, s, o) // twice is once
		got, err := s.get(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := o.Booking
		want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Microsecond)
		want.UpdatedAt = want.CreatedAt
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if _, err := s.get(t.Context(), uuid.New()); !errors.Is(err, errNotFound) {
			t.Errorf("an unknown booking: %v", err)
		}
		mine, err := s.mine(t.Context())
		if err != nil || len(mine) != 1 || mine[0].carrier["traceparent"] != o.carrier["traceparent"] {
			t.Errorf("unfinished: %+v, %v", mine, err)
		}
	})
}

// Whatever an event may say comes out of the database as it went in.
func TestStoreKeepsEveryReason(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s := open("a")
		for _, reason := range []string{
			"\x01", "\t\r\n", "\x7f\u0085", "\u2028\ufeff", "\ufffd", "𝄞 ї", `"\ \u0000 '`, "null", strings.Repeat("ї", tickets.MaxText/2),
		} {
			o := insert(t, s, newOrder(5))
			mustSettle(t, s, outcome{id: o.ID, status: Rejected, reason: reason})
			if b, err := s.get(t.Context(), o.ID); err != nil || b.Reason != reason {
				t.Errorf("%q: %q, %v", reason, b.Reason, err)
			}
		}
	})
}

// Every outcome in every state that earlier outcomes lead to, in every order
// of two, and each twice: the store does as the state machine says.
func TestStoreFollowsTheStateMachine(t *testing.T) {
	outcomes := []outcome{
		{status: Confirmed},
		{status: Rejected, reason: "taken"},
		{status: Cancelled, reason: "no money"},
		{status: Cancelled, reason: "no money", released: true},
	}
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s := open("a")
		for _, first := range outcomes {
			for _, second := range outcomes {
				b := insert(t, s, newOrder(5))
				want := b.state()
				for _, o := range []outcome{first, first, second, second, first} {
					o.id = b.ID
					next, v := want.next(o)
					got := mustSettle(t, s, o)
					if !got.known || got.verdict != v || got.was != want && got.verdict != changes {
						t.Errorf("%+v after %+v: %+v, want verdict %d", o, want, got, v)
					}
					want = next
					stored, err := s.get(t.Context(), b.ID)
					if err != nil || stored.state() != want {
						t.Fatalf("%+v left %+v, %v; want %+v", o, stored.state(), err, want)
					}
				}
			}
		}
		if got := mustSettle(t, s, outcome{id: uuid.New(), status: Confirmed}); got.known {
			t.Error("an unknown booking was settled")
		}
	})
}

// Contradicting outcomes from two replicas at once: one wins, on each booking.
func TestStoreSettlesOnceUnderConcurrency(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		a, b := open("a"), open("b")
		var orders []order
		for i := range 40 {
			orders = append(orders, insert(t, a, newOrder(i+1)))
		}
		var wins sync.Map
		var running sync.WaitGroup
		for _, o := range orders {
			for i, s := range []*store{a, b, a, b} {
				status := []Status{Confirmed, Cancelled}[i%2]
				running.Go(func() {
					got, err := s.settle(context.WithoutCancel(t.Context()), outcome{id: o.ID, status: status})
					if err != nil {
						t.Error(err)
					}
					if got.verdict == changes {
						if _, twice := wins.LoadOrStore(o.ID, status); twice {
							t.Errorf("booking %s was settled twice", o.ID)
						}
					}
				})
			}
		}
		running.Wait()
		for _, o := range orders {
			got, err := a.get(t.Context(), o.ID)
			won, ok := wins.Load(o.ID)
			if err != nil || !ok || got.Status != won {
				t.Errorf("booking %s is %s, won by %v, %v", o.ID, got.Status, won, err)
			}
		}
	})
}

func TestStorePages(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s := open("a")
		var want []uuid.UUID
		for i := range 7 {
			o := insert(t, s, newOrder(i+1))
			if i%2 == 0 {
				mustSettle(t, s, outcome{id: o.ID, status: Confirmed})
			}
			want = append(want, o.ID)
		}
		var got []uuid.UUID
		for after := (uuid.UUID{}); ; {
			page, err := s.list(t.Context(), "", after, 3)
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
		if page, err := s.list(t.Context(), Confirmed, uuid.UUID{}, 10); err != nil || len(page) != 4 {
			t.Errorf("%d confirmed, %v", len(page), err)
		}
	})
}

func TestStoreRedrives(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		a, b := open("a"), open("b")
		now := time.Now()
		pending, cancelled, released := insert(t, a, newOrder(1)), insert(t, a, newOrder(2)), insert(t, b, newOrder(3))
		mustSettle(t, a, outcome{id: cancelled.ID, status: Cancelled, reason: "r"})
		mustSettle(t, a, outcome{id: released.ID, status: Cancelled, reason: "r", released: true})
		waits := newOrder(4)
		waits.started = time.Time{}
		insert(t, a, waits)

		if due, err := a.due(t.Context(), now, 5, 10); err != nil || len(due) != 0 {
			t.Fatalf("due before the deadline: %d, %v", len(due), err)
		}
		later := now.Add(2 * time.Minute)
		due, err := b.due(t.Context(), later, 5, 10)
		if err != nil || len(due) != 2 {
			t.Fatalf("due: %+v, %v", due, err)
		}
		for _, o := range due {
			if o.ID != pending.ID && o.ID != cancelled.ID {
				t.Errorf("due: %+v", o)
			}
			first, err := b.claim(t.Context(), o, later)
			second, err2 := a.claim(t.Context(), o, later)
			if err := errors.Join(err, err2); err != nil || !first || second {
				t.Errorf("claims: %v, %v, %v", first, second, err)
			}
		}
		if due, err := a.due(t.Context(), later, 5, 10); err != nil || len(due) != 0 {
			t.Errorf("due again at once: %d, %v", len(due), err)
		}
		if due, err := a.due(t.Context(), later.Add(time.Hour), 1, 10); err != nil || len(due) != 0 {
			t.Errorf("due above the limit: %d, %v", len(due), err)
		}
		if n, err := a.stalled(t.Context(), later.Add(time.Hour), 1); err != nil || n != 2 {
			t.Errorf("stalled: %d, %v", n, err)
		}
		waits.started = later
		if mine, err := b.start(t.Context(), waits); err != nil || mine {
			t.Fatalf("started at another replica: %v, %v", mine, err)
		}
		if mine, err := a.start(t.Context(), waits); err != nil || !mine {
			t.Fatalf("not started: %v, %v", mine, err)
		}
		if due, err := a.due(t.Context(), later.Add(61*time.Second), 1, 10); err != nil || len(due) != 1 || due[0].ID != waits.ID {
			t.Errorf("due after the wait: %+v, %v", due, err)
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
		func() error { _, err := s.insert(t.Context(), newOrder(2)); return err }(),
		func() error { _, err := s.settle(t.Context(), outcome{id: o.ID, status: Confirmed}); return err }(),
	} {
		if err == nil || database.BlamesRow(err) {
			t.Errorf("while the store is down: %v", err)
		}
	}
	pg.Start(t)
	deadline := time.Now().Add(30 * time.Second)
	for {
		got, err := s.settle(t.Context(), outcome{id: o.ID, status: Confirmed})
		if err == nil && got.verdict == changes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(fmt.Errorf("still down: %w", err))
		}
	}
}

func TestStoreKeepsKeys(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		a, b := open("a"), open("b")
		first := newOrder(1)
		first.key = "k1"
		insert(t, a, first)
		insert(t, a, first) // an insert whose answer was lost is repeated
		second := newOrder(2)
		second.key = "k1"
		if ok, err := b.insert(t.Context(), second); err != nil || ok {
			t.Errorf("a second booking with the key: %v, %v", ok, err)
		}
		insert(t, b, newOrder(3)) // without a key nothing collides
		insert(t, b, newOrder(3))
		got, err := b.byKey(t.Context(), "k1")
		if err != nil || got == nil || got.ID != first.ID || got.Customer != first.Customer {
			t.Errorf("by key: %+v, %v", got, err)
		}
		if got, err := b.byKey(t.Context(), "k2"); err != nil || got != nil {
			t.Errorf("by an unknown key: %+v, %v", got, err)
		}
	})
}

func TestStoreUndoesWhatMayBeWritten(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s := open("a")
		written, notWritten, kept := insert(t, s, newOrder(1)), newOrder(2), insert(t, s, newOrder(3))
		keyed, keyedNotWritten := newOrder(4), newOrder(5)
		keyed.key, keyedNotWritten.key = "a", "b"
		insert(t, s, keyed) // a retry with its key may have been told of it
		left, err := s.remove(t.Context(), []order{written, notWritten, keyed, keyedNotWritten})
		if err != nil || len(left) != 1 || left[0] != keyed.ID {
			t.Fatalf("kept %v, %v; want the keyed one", left, err)
		}
		page, err := s.list(t.Context(), "", uuid.UUID{}, 10)
		if err != nil || len(page) != 2 || page[0].ID != kept.ID || page[1].ID != keyed.ID {
			t.Errorf("left: %+v, %v", page, err)
		}
	})
}

func TestStoreTakesOver(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		gone, alive, b := open("gone"), open("alive"), open("b")
		now := time.Now()
		var waits []order
		for i := range 3 {
			o := newOrder(i + 1)
			o.started = time.Time{}
			waits = append(waits, insert(t, gone, o))
			other := newOrder(i + 1)
			other.started = time.Time{}
			insert(t, alive, other)
		}
		insert(t, gone, newOrder(9)) // it has started: it is redriven instead
		for s, at := range map[*store]time.Time{gone: now.Add(-time.Hour), alive: now, b: now} {
			if err := s.seen(t.Context(), at); err != nil {
				t.Fatal(err)
			}
		}
		taken, err := b.takeOver(t.Context(), now.Add(-time.Minute), 2)
		if err != nil || len(taken) != 2 {
			t.Fatalf("taken over: %+v, %v", taken, err)
		}
		if again, err := alive.takeOver(t.Context(), now.Add(-time.Minute), 10); err != nil || len(again) != 1 || again[0].ID != waits[2].ID {
			t.Errorf("left for another: %+v, %v", again, err)
		}
		if mine, err := gone.start(t.Context(), waits[0]); err != nil || mine {
			t.Errorf("a replica that comes back starts what was taken over: %v, %v", mine, err)
		}
	})
}
