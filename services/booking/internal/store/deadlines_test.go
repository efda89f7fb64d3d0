package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
)

// waiting is an order that has not started.
func waiting(seat int) row.Order {
	o := newOrder(seat)
	o.Started = false
	return o
}

func due(t *testing.T, s *Store, most int) []row.Order {
	t.Helper()
	found, err := s.Due(t.Context(), most, 10)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func stalled(t *testing.T, s *Store, most int) int {
	t.Helper()
	n, err := s.Stalled(t.Context(), most)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStoreRedrives(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		a, b := open("a"), open("b")
		pending, cancelled, released := insert(t, a, newOrder(1)), insert(t, a, newOrder(2)), insert(t, b, newOrder(3))
		mustSettle(t, a, row.Outcome{ID: cancelled.ID, Status: row.Cancelled, Reason: "r"})
		mustSettle(t, a, row.Outcome{ID: released.ID, Status: row.Cancelled, Reason: "r", Released: true})
		waits := insert(t, a, waiting(4))

		if early := due(t, a, 5); len(early) != 0 {
			t.Fatalf("due before the deadline: %d", len(early))
		}
		pass(t, a, 2*time.Minute)
		late := due(t, b, 5)
		if len(late) != 2 {
			t.Fatalf("due: %+v", late)
		}
		for _, o := range late {
			if o.ID != pending.ID && o.ID != cancelled.ID || !o.Started || o.Age < 2*time.Minute || o.Age > 10*time.Minute {
				t.Errorf("due: %+v", o)
			}
			first, err := b.Claim(t.Context(), o)
			second, err2 := a.Claim(t.Context(), o)
			if err := errors.Join(err, err2); err != nil || !first || second {
				t.Errorf("claims: %v, %v, %v", first, second, err)
			}
		}
		if again := due(t, a, 5); len(again) != 0 {
			t.Errorf("due again at once: %d", len(again))
		}
		pass(t, a, time.Hour)
		if above := due(t, a, 1); len(above) != 0 {
			t.Errorf("due above the limit: %d", len(above))
		}
		if n := stalled(t, a, 1); n != 2 {
			t.Errorf("stalled: %d", n)
		}
		if mine, err := b.Start(t.Context(), waits); err != nil || mine {
			t.Fatalf("started at another replica: %v, %v", mine, err)
		}
		if mine, err := a.Start(t.Context(), waits); err != nil || !mine {
			t.Fatalf("not started: %v, %v", mine, err)
		}
		pass(t, a, 61*time.Second)
		if mine, err := a.Start(t.Context(), waits); err != nil || !mine { // a second time puts nothing off
			t.Fatalf("not started again: %v, %v", mine, err)
		}
		if late := due(t, a, 1); len(late) != 1 || late[0].ID != waits.ID {
			t.Errorf("due after the wait: %+v", late)
		}
	})
}

// The pauses between redrives double, ten times.
func TestPausesGrow(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		s := open("a")
		o := insert(t, s, newOrder(5))
		for redrives, pause := range map[int]time.Duration{0: 2 * time.Minute, 3: 16 * time.Minute, 30: 1024 * time.Minute} {
			o.Redrives = redrives
			if _, err := s.db.ExecContext(t.Context(), `UPDATE bookings SET redrives = $1`, redrives); err != nil {
				t.Fatal(err)
			}
			if mine, err := s.Claim(t.Context(), o); err != nil || !mine {
				t.Fatal(mine, err)
			}
			pass(t, s, pause-30*time.Second)
			if early := due(t, s, 100); len(early) != 0 || stalled(t, s, 0) != 0 {
				t.Errorf("%d redrives: due before %v", redrives, pause)
			}
			pass(t, s, 30*time.Second)
			if late := due(t, s, 100); len(late) != 1 || stalled(t, s, 0) != 1 {
				t.Errorf("%d redrives: not due after %v", redrives, pause)
			}
		}
	})
}

// After a start no redrive of this instance is further ahead than a deadline,
// however far the clock was set back.
func TestAStartBringsRedrivesForward(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		a, b := open("a"), open("b")
		mine, others := insert(t, a, newOrder(1)), insert(t, b, newOrder(2))
		insert(t, a, waiting(3))
		pass(t, a, -100*365*24*time.Hour)
		if all, err := a.Mine(t.Context()); err != nil || len(all) != 2 || all[0].Age != 0 {
			t.Errorf("%+v, %v: a saga is younger than it can be", all, err)
		}
		if err := a.Hasten(t.Context()); err != nil {
			t.Fatal(err)
		}
		if early := due(t, a, 5); len(early) != 0 {
			t.Errorf("due at once: %+v", early)
		}
		pass(t, a, time.Minute)
		if late := due(t, a, 5); len(late) != 1 || late[0].ID != mine.ID {
			t.Errorf("due after a deadline: %+v, want %s, not %s", late, mine.ID, others.ID)
		}
	})
}

func see(t *testing.T, s *Store) {
	t.Helper()
	if at, err := s.Seen(t.Context()); err != nil || time.Since(at).Abs() > time.Minute {
		t.Fatal(at, err)
	}
}

func TestStoreTakesOver(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		gone, alive, b := open("gone"), open("alive"), open("b")
		var waits []row.Order
		for i := range 3 {
			waits = append(waits, insert(t, gone, waiting(i+1)))
			insert(t, alive, waiting(i+1))
		}
		insert(t, gone, newOrder(9)) // it has started: it is redriven instead
		see(t, gone)
		pass(t, b, time.Hour)
		see(t, alive)
		see(t, b)
		if n, err := b.CountAbandoned(t.Context()); err != nil || n != 3 {
			t.Errorf("%d to be taken over, %v", n, err)
		}
		taken, err := b.TakeOver(t.Context(), 2)
		if err != nil || len(taken) != 2 {
			t.Fatalf("taken over: %+v, %v", taken, err)
		}
		if again, err := alive.TakeOver(t.Context(), 10); err != nil || len(again) != 1 || again[0].ID != waits[2].ID {
			t.Errorf("left for another: %+v, %v", again, err)
		}
		if mine, err := gone.Start(t.Context(), waits[0]); err != nil || mine {
			t.Errorf("a replica that comes back starts what was taken over: %v, %v", mine, err)
		}
	})
}

// A replica that is gone, and was seen by a clock that was ahead, is gone all
// the same. One that lives is seen again, by a clock that is right now.
func TestAReplicaSeenInTheFutureIsTakenOver(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *Store) {
		gone, lives, b := open("gone"), open("lives"), open("b")
		ids := make(map[*Store]uuid.UUID)
		for _, s := range []*Store{gone, lives} {
			ids[s] = insert(t, s, waiting(5)).ID
			see(t, s)
		}
		pass(t, b, -time.Hour)
		see(t, lives)
		if taken, err := b.TakeOver(t.Context(), 10); err != nil || len(taken) != 1 || taken[0].ID != ids[gone] {
			t.Errorf("taken over: %+v, %v", taken, err)
		}
	})
}
