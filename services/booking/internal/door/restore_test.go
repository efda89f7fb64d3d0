package door

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
)

// What an earlier run left takes its places again, in turn: what ran runs on,
// the late ones beside the others, and what waited waits.
func TestRestoreFillsTheBudgets(t *testing.T) {
	d, starter := closedDoor(Limits{Active: 2, Waiting: 1, Overdue: 1})
	waits, late, runs, more := unfinished(false, 0), unfinished(true, time.Hour), unfinished(true, time.Second), unfinished(true, time.Hour)
	released := unfinished(true, time.Hour)
	released.Status = row.Cancelled
	d.Restore([]row.Order{waits, released, late, runs, more}, time.Minute)
	if s := d.Stats(); s.Active != 2 || s.Overdue != 1 || s.Waiting != 1 || !s.Accepting {
		t.Errorf("%+v", s)
	}
	if got, want := starter.ids(), []uuid.UUID{late.ID, runs.ID, more.ID, released.ID}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
	for _, o := range starter.started {
		if !o.Again {
			t.Errorf("%+v is started with its fault script", o)
		}
	}
	d.Finish(released.ID, runs.ID) // the one holds no place
	if n := len(starter.started); n != 5 || starter.started[4].ID != waits.ID || starter.started[4].Again {
		t.Errorf("started instead: %+v", starter.started[4:])
	}
}

// An older booking that was adopted, not started, must not take the active slot
// of a younger one that had started, whose outcome would then free nothing.
func TestOutcomeOfRestoredWaiting(t *testing.T) {
	d, starter := closedDoor(Limits{Active: 1, Waiting: 4, Overdue: 1})
	adopted, own := unfinished(false, 0), unfinished(true, 0)
	d.Restore([]row.Order{adopted, own}, time.Minute)
	if got := starter.ids(); !slices.Equal(got, []uuid.UUID{own.ID}) {
		t.Errorf("started after the restart: %v", got)
	}
	d.Finish(own.ID)
	if s := d.Stats(); s.Waiting != 0 {
		t.Errorf("the outcome of a started booking is in, its place is not free: %+v, held by reconcile: %v", s, d.Held())
	}
}

func TestResumeBeforeRestore(t *testing.T) {
	d, _ := closedDoor(Limits{Active: 1, Waiting: 4, Overdue: 1})
	d.Drain(false) // POST /lab/resume while the service still prepares
	if _, no := d.Reserve(row.Order{}); no != Starting || d.Restored() {
		t.Errorf("answered %d before the bookings of an earlier run have their places", no)
	}
}

func TestATakeoverKeepsTheBudget(t *testing.T) {
	d, _ := openDoor(Limits{Active: 1, Waiting: 3, Overdue: 1})
	o, _ := d.Reserve(row.Order{})
	d.Commit(o.ID)
	room := d.SetAside(3) // before the UPDATE
	for range 3 {         // clients meanwhile
		o, no := d.Reserve(row.Order{})
		if no == Admitted {
			d.Commit(o.ID)
		}
	}
	var taken []row.Order
	for range room {
		taken = append(taken, unfinished(false, 0))
	}
	d.Adopt(taken)
	if s := d.Stats(); s.Waiting > s.WaitingLimit {
		t.Errorf("waiting %d of %d", s.Waiting, s.WaitingLimit)
	}
}

// Who is adopted twice, or has a place, is started once.
func TestAdoptingIsIdempotent(t *testing.T) {
	d, starter := openDoor(Limits{Active: 2, Waiting: 4, Overdue: 1})
	a, b, c := unfinished(false, 0), unfinished(false, 0), unfinished(false, 0)
	d.Adopt([]row.Order{c, a})
	d.Adopt([]row.Order{c, b, a})
	d.Finish(a.ID, c.ID)
	if got, want := starter.ids(), []uuid.UUID{a.ID, c.ID, b.ID}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

// A saga is as old after a restart as its row says.
func TestAgeOutlivesARestart(t *testing.T) {
	d, _ := closedDoor(Limits{Active: 2, Waiting: 1, Overdue: 2})
	d.Restore([]row.Order{unfinished(true, 50*time.Second), unfinished(true, 0)}, time.Minute)
	d.Expire(time.Now().Add(-40 * time.Second))
	if s := d.Stats(); s.Active != 1 || s.Overdue != 1 {
		t.Errorf("%+v", s)
	}
}
