package door

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
)

// A door that finished 80 sagas a second does so again after an outage. What the
// outage lets through, now and then, must not keep clients away for long.
func TestRetryAfterForgetsAnOutage(t *testing.T) {
	for name, before := range map[string]int{"busy before": 1000, "idle before": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _ := openDoor(Limits{Active: 64, Waiting: 256, Overdue: 64})
				refill := func() {
					for {
						o, no := d.Reserve(row.Order{})
						if no != Admitted {
							return
						}
						d.Commit(o.ID)
					}
				}
				finish := func(every time.Duration, n int) {
					for range n {
						time.Sleep(every)
						d.Finish(d.Held()[0])
						refill()
					}
				}
				most := func() (most time.Duration) {
					for range 1000 { // clients that are refused
						most = max(most, d.RetryAfter())
					}
					return most
				}
				refill()
				finish(time.Second/80, before)
				time.Sleep(15 * time.Second)
				finish(4*time.Second, 5) // left-over outcomes, each of which ends the stall
				if got := most(); got > 10*time.Second {
					t.Errorf("during the outage clients are sent away for up to %s", got)
				}
				finish(time.Second/80, 80)
				if got := most(); got > 20*time.Second {
					t.Errorf("a second after it, up to %s", got)
				}
				finish(time.Second/80, 800)
				if got := most(); got < 3*time.Second || got > 5*time.Second { // 320 places, 80 a second
					t.Errorf("ten seconds after it, up to %s", got)
				}
			})
		})
	}
}

// Where fewer come than the door could take, how many come says nothing.
func TestRetryAfterDoesNotMeasureArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := openDoor(Limits{Active: 4, Waiting: 4, Overdue: 4})
		for range 100 {
			o, _ := d.Reserve(row.Order{})
			d.Commit(o.ID)
			time.Sleep(10 * time.Millisecond)
			d.Finish(o.ID)
			time.Sleep(time.Minute)
		}
		for range 8 {
			o, _ := d.Reserve(row.Order{})
			d.Commit(o.ID)
		}
		time.Sleep(10 * time.Millisecond)
		d.Finish(d.Held()...) // four, after 10 ms
		for range 100 {
			if got := d.RetryAfter(); got > time.Second {
				t.Fatalf("a door that is full for a moment sends clients away for %s", got)
			}
		}
	})
}

// A door that is slow by nature is no outage.
func TestRetryAfterOfASlowDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := openDoor(Limits{Active: 4, Waiting: 16, Overdue: 4})
		var running []uuid.UUID
		admit := func() {
			if o, no := d.Reserve(row.Order{}); no == Admitted {
				d.Commit(o.ID)
				running = append(running, o.ID)
			}
		}
		for range 20 {
			admit()
		}
		for range 30 { // one every five seconds, in order
			time.Sleep(5 * time.Second)
			d.Finish(running[0])
			running = running[1:]
			admit()
		}
		for i := range 8 {
			want := time.Duration(i+1) * 5 * time.Second
			if got := d.RetryAfter(); got < want*8/10 || got > want*12/10 {
				t.Errorf("client %d is sent away for %s, want about %s", i+1, got, want)
			}
		}
	})
}

func TestRetryAfterSpreadsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := openDoor(Limits{Active: 100, Waiting: 0, Overdue: 0})
		var ids []uuid.UUID
		for range 100 {
			o, _ := d.Reserve(row.Order{})
			d.Commit(o.ID)
			ids = append(ids, o.ID)
		}
		for _, id := range ids[:50] { // two a second
			time.Sleep(time.Second / 2)
			d.Finish(id)
			o, _ := d.Reserve(row.Order{})
			d.Commit(o.ID)
		}
		var waits []time.Duration
		for range 20 {
			waits = append(waits, d.RetryAfter().Round(time.Second))
		}
		if !slices.IsSorted(waits) || waits[0] > 2*time.Second || waits[19] < 8*time.Second || waits[19] > 12*time.Second {
			t.Errorf("20 clients at two places a second are sent away for %v", waits)
		}
	})
}
