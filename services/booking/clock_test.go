package booking

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/database"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/services/booking/internal/store"
	"boxoffice/tickets"
)

// awake is a service on a database that has taken up what is there, and whose
// looks the test does by hand: real servers know no virtual time.
func awake(t *testing.T, url string, server *inproc.Server) *rig {
	t.Helper()
	cfg := testConfig()
	cfg.Limits = Limits{Active: 2, Waiting: 2, Overdue: 2}
	r := restart(t, cfg, &rig{t: t, server: server, url: url})
	t.Cleanup(r.store.Close)
	migrations, err := store.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{r.Migrate(t.Context(), migrations), r.Declare(t.Context()), r.recover(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// The clock is set back by an hour, or ahead, between two runs: stored times lie
// in the future, or in the past. Two bookings run and two wait; then the service
// starts again.
func TestBookingsFinishThoughTheClockWasSet(t *testing.T) {
	for name, c := range map[string]struct {
		shift                             time.Duration
		active, waiting, overdue, started int
	}{
		"back":  {time.Hour, 2, 2, 0, 2},
		"ahead": {-time.Hour, 2, 0, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			participanttest.OnBoth(t, tickets.Booking, func(t *testing.T, url string) {
				server := inproc.New(inproc.Options{})
				before := awake(t, url, server)
				for seat := range 4 {
					before.book(fmt.Sprint(seat + 1))
				}
				shift(t, before.db, c.shift)

				r := awake(t, url, server)
				if s := r.door.Stats(); s.Active != c.active || s.Waiting != c.waiting || s.Overdue != c.overdue {
					t.Errorf("%+v", s)
				}
				if n := len(r.starter.take()); n != c.started {
					t.Errorf("%d published at the start", n)
				}
				if idle := r.door.IdleFor(); idle < 0 || idle > time.Minute {
					t.Errorf("idle for %v", idle)
				}
				if wait := r.door.RetryAfter(); wait < time.Second || wait > time.Minute {
					t.Errorf("Retry-After %v", wait)
				}
				shift(t, r.db, -r.cfg.SagaDeadline) // a deadline passes
				for range 5 {                       // looks: those that have started are redriven, once
					if err := r.redriveOverdue(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if n := r.counts.redriven.Load(); n != 2 || r.created() != 2 {
					t.Errorf("%d redrives, %d published", n, r.created())
				}
				r.door.Expire(time.Now().Add(time.Second)) // whatever has started by now is older than the deadline
				if s := r.door.Stats(); s.Overdue != 2 || s.Active != 2 || s.Waiting != 0 {
					t.Errorf("past the deadline: %+v", s)
				}
				all, err := r.store.List(t.Context(), Pending, [16]byte{}, 10)
				if err != nil || len(all) != 4 {
					t.Fatalf("%d bookings, %v", len(all), err)
				}
				for _, b := range all {
					if _, err := r.paymentSucceeded(t.Context(), tickets.PaymentSucceeded{BookingID: b.ID}); err != nil {
						t.Fatal(err)
					}
				}
				if s := r.door.Stats(); s.Active+s.Waiting+s.Overdue != 0 || r.counts.confirmed.Load() != 4 {
					t.Errorf("at the end: %+v", s)
				}
			})
		})
	}
}

// The same with everything running, in virtual time: what a restart publishes
// again is lost, and the redrive comes after a deadline, however the clock was set.
func TestARestartRedrivesThoughTheClockWasSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": time.Hour, "ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig())
				stop := r.run()
				for seat := range 6 { // four run, two wait
					r.book(fmt.Sprint(seat + 1))
				}
				synctest.Wait()
				stop()
				shift(t, r.db, by)
				r = restart(t, testConfig(), r)
				r.run()
				time.Sleep(time.Second / 2)
				r.lose("seats.BookingCreated")
				time.Sleep(2 * r.cfg.SagaDeadline)
				r.play()
				time.Sleep(2 * r.cfg.SagaDeadline)
				if s := r.door.Stats(); s.Active+s.Waiting+s.Overdue != 0 || r.counts.confirmed.Load() != 6 {
					t.Errorf("%+v, %d confirmed", s, r.counts.confirmed.Load())
				}
			})
		})
	}
}

// lose empties a queue.
func (r *rig) lose(queue string) {
	r.t.Helper()
	conn := r.server.Connect("loser")
	defer func() { _ = conn.Close(r.t.Context()) }()
	err := conn.Browse(r.t.Context(), queue, func(context.Context, messaging.Message) (bool, error) { return true, nil })
	if ready, _ := r.server.Depth(queue); err != nil || ready != 0 {
		r.t.Fatalf("%d messages are left in %s, %v", ready, queue, err)
	}
}

// shift moves all stored times.
func shift(t *testing.T, db *database.DB, by time.Duration) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), `UPDATE bookings SET created_at = created_at + $1, updated_at = updated_at + $1,
		started_at = CASE WHEN started_at = 0 THEN 0 ELSE started_at + $1 END,
		redrive_at = CASE WHEN redrive_at = 0 THEN 0 ELSE redrive_at + $1 END`, by.Microseconds()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE instances SET seen_at = seen_at + $1`, by.Microseconds()); err != nil {
		t.Fatal(err)
	}
}

// A replica that was away, or whose store's clock was set, leaves the others alone.
func TestAbsenceMakesPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a absence
		seen := time.Now()
		for _, c := range []struct {
			gap     time.Duration // by the store's clock
			patient bool
		}{
			{0, false}, // the first time
			{heartbeat, false}, {3 * heartbeat, false}, {4 * heartbeat, true}, {heartbeat, true}, {time.Minute - 2*heartbeat, true}, {time.Minute, true},
		} {
			seen = seen.Add(c.gap)
			if got := a.patient(seen, time.Minute); got != c.patient {
				t.Errorf("after %v: patient %v", c.gap, got)
			}
		}
		time.Sleep(time.Minute)
		for _, back := range []time.Duration{0, -time.Hour} {
			seen = seen.Add(back)
			if got := a.patient(seen, time.Minute); got != (back < 0) {
				t.Errorf("after %v: patient %v", back, got)
			}
		}
	})
}
