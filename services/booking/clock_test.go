package booking

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging/inproc"
	"boxoffice/tickets"
)

// lines is a log to be read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// awake is a service on a database that has taken up what is there, and whose
// looks the test does by hand: real servers know no virtual time.
func awake(t *testing.T, db *database.DB, server *inproc.Server) (*rig, *lines) {
	t.Helper()
	log := &lines{}
	tel, err := telemetry.New(t.Context(), telemetry.Options{
		Service: tickets.Booking, LogOutput: log, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := server.Connect("booking")
	cfg := testConfig()
	cfg.Limits = Limits{Active: 2, Waiting: 2, Overdue: 2}
	s := New(cfg, participant.Deps{DB: db, Broker: conn, Telemetry: tel})
	t.Cleanup(func() {
		s.store.close()
		_, _ = conn.Close(context.Background()), tel.Shutdown(context.Background())
	})
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Migrate(t.Context(), migrations), s.Declare(t.Context()), s.recover(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &rig{Service: s, t: t, server: server}, log
}

// The clock is set back by an hour, or ahead: stored times lie in the future,
// or in the past. Two bookings run and two wait; then the service starts again.
func TestBookingsFinishThoughTheClockWasSet(t *testing.T) {
	const future = "stored times lie in the future"
	for name, c := range map[string]struct {
		shift                                time.Duration
		active, waiting, overdue, saidAtOnce int
	}{
		"back":  {time.Hour, 2, 2, 0, 1},
		"ahead": {-time.Hour, 2, 0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(t *testing.T, open func(string) *store) {
				server := inproc.New(inproc.Options{})
				db := open("test").db
				before, _ := awake(t, db, server)
				for seat := range 4 {
					before.book(fmt.Sprint(seat + 1))
				}
				shift(t, db, c.shift)

				r, log := awake(t, db, server)
				if n := log.count(future); n != c.saidAtOnce {
					t.Errorf("%d lines about the future at the start", n)
				}
				if s := r.door.stats(); s.Active != c.active || s.Waiting != c.waiting || s.Overdue != c.overdue {
					t.Errorf("%+v", s)
				}
				if idle := r.door.idleFor(); idle < 0 || idle > time.Minute {
					t.Errorf("idle for %v", idle)
				}
				if wait := r.door.retryAfter(); wait < time.Second || wait > time.Minute {
					t.Errorf("Retry-After %v", wait)
				}
				for range 5 { // looks: those that have started are redriven, once
					if err := r.redriveOverdue(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if n := r.counts.redriven.Load(); n != 2 || r.created() != 2 {
					t.Errorf("%d redrives, %d published", n, r.created())
				}
				if n := log.count(future); n != 2*c.saidAtOnce {
					t.Errorf("%d lines about the future after the redrives", n)
				}
				r.door.expire(time.Now().Add(time.Second)) // whatever has started by now is older than the deadline
				if s := r.door.stats(); s.Overdue != 2 || s.Active != 2 || s.Waiting != 0 {
					t.Errorf("past the deadline: %+v", s)
				}
				all, err := r.store.list(t.Context(), Pending, [16]byte{}, 10)
				if err != nil || len(all) != 4 {
					t.Fatalf("%d bookings, %v", len(all), err)
				}
				for _, b := range all {
					if _, err := r.paymentSucceeded(t.Context(), tickets.PaymentSucceeded{BookingID: b.ID}); err != nil {
						t.Fatal(err)
					}
				}
				if s := r.door.stats(); s.Active+s.Waiting+s.Overdue != 0 || r.counts.confirmed.Load() != 4 {
					t.Errorf("at the end: %+v", s)
				}
			})
		})
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

// A redrive is due when its time has come, and when it lies further ahead than
// the pauses between redrives are long.
func TestARedriveIsNeverFarAhead(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		s, now := open("a"), time.Now()
		insert(t, s, newOrder(5))
		for _, c := range []struct {
			redrives int
			ahead    time.Duration
			due      bool
		}{
			{0, 0, true},
			{0, time.Minute, false},
			{0, 2*time.Minute + time.Second, true},
			{3, 8 * time.Minute, false},
			{3, 9*time.Minute + time.Second, true},
			{30, 1024 * time.Minute, false},
			{30, 1026 * time.Minute, true},
			{30, 100 * 365 * 24 * time.Hour, true},
		} {
			if _, err := s.db.ExecContext(t.Context(), `UPDATE bookings SET redrives = $1, redrive_at = $2`,
				c.redrives, now.Add(c.ahead).UnixMicro()); err != nil {
				t.Fatal(err)
			}
			due, err := s.due(t.Context(), now, 100, 10)
			if err != nil || (len(due) == 1) != c.due {
				t.Errorf("%d redrives, the next one in %v: %d due, %v", c.redrives, c.ahead, len(due), err)
			}
			stalled, err := s.stalled(t.Context(), now, 0)
			if err != nil || (stalled == 1) != c.due {
				t.Errorf("%d redrives, the next one in %v: %d stalled, %v", c.redrives, c.ahead, stalled, err)
			}
			if len(due) == 1 { // once it is claimed, it is a while ahead
				if mine, err := s.claim(t.Context(), due[0], now); err != nil || !mine {
					t.Fatal(mine, err)
				}
				if again, err := s.due(t.Context(), now, 100, 10); err != nil || len(again) != 0 {
					t.Errorf("%d redrives: due again at once, %v", c.redrives, err)
				}
			}
		}
	})
}

// A replica that is gone, and was seen by a clock that was ahead, is gone all
// the same, after a saga deadline. One that lives, with such a clock, is not.
func TestAReplicaSeenInTheFutureIsTakenOver(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, open func(string) *store) {
		gone, lives, now := open("gone"), open("lives"), time.Now()
		r, log := awake(t, open("test").db, inproc.New(inproc.Options{}))
		ids := make(map[*store]uuid.UUID)
		for _, s := range []*store{gone, lives} {
			o := newOrder(5)
			o.started = time.Time{}
			ids[s] = insert(t, s, o).ID
			if err := s.seen(t.Context(), now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		for _, after := range []time.Duration{0, 59 * time.Second, time.Minute} {
			if err := r.forgetTheFuture(t.Context(), now.Add(after)); err != nil {
				t.Fatal(err)
			}
			forgotten := after == time.Minute
			if left, err := r.store.seenAfter(t.Context(), now.Add(after+clockSlack)); err != nil || (len(left) == 1) != forgotten {
				t.Errorf("after %v: %+v, %v", after, left, err)
			}
			if err := lives.seen(t.Context(), now.Add(time.Hour+after)); err != nil {
				t.Fatal(err)
			}
		}
		taken, err := r.store.takeOver(t.Context(), now, 10)
		if err != nil || len(taken) != 1 || taken[0].ID != ids[gone] {
			t.Errorf("taken over: %+v, %v", taken, err)
		}
		if n := log.count("last seen in the future"); n != 1 {
			t.Errorf("%d lines about it", n)
		}
	})
}
