package booking

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func openDoor(l Limits) *door {
	d := newDoor(l)
	d.restore(nil, time.Minute)
	return d
}

func TestDoorIsClosedUntilRecovered(t *testing.T) {
	d := newDoor(Limits{Active: 1, Waiting: 1, Overdue: 1})
	if _, no := d.reserve(order{}); no != starting {
		t.Errorf("a new door answers %d", no)
	}
	d.drain(true)
	if _, no := d.reserve(order{}); no != draining {
		t.Errorf("a new door that is drained answers %d", no)
	}
}

func TestDoorTakesExactlyItsBudgets(t *testing.T) {
	d := openDoor(Limits{Active: 2, Waiting: 3, Overdue: 2})
	var ids []uuid.UUID
	var started []uuid.UUID
	for range 5 {
		o, no := d.reserve(order{})
		if no != admitted {
			t.Fatalf("refused the booking after %d", len(ids))
		}
		ids = append(ids, o.ID)
		for _, o := range d.commit(o.ID) {
			started = append(started, o.ID)
		}
	}
	if _, no := d.reserve(order{}); no != full {
		t.Errorf("the sixth booking: %d", no)
	}
	if s := d.stats(); s.Active != 2 || s.Waiting != 3 || s.Accepted != 5 {
		t.Errorf("%+v", s)
	}
	for _, id := range ids {
		for _, o := range d.finish(id, id) {
			started = append(started, o.ID)
		}
	}
	if !slices.Equal(started, ids) {
		t.Errorf("started %v, accepted %v", started, ids)
	}
}

func TestOverdueBookingsGiveTheirSlotsBackWhileThereIsRoom(t *testing.T) {
	d := openDoor(Limits{Active: 2, Waiting: 4, Overdue: 1})
	for range 4 {
		o, _ := d.reserve(order{})
		d.commit(o.ID)
	}
	started := d.expire(time.Now().Add(time.Minute))
	if s := d.stats(); len(started) != 1 || s.Active != 2 || s.Overdue != 1 || s.Waiting != 1 {
		t.Errorf("started %d, %+v", len(started), s)
	}
	for id := range d.overdue {
		d.finish(id)
	}
	if s := d.stats(); s.Overdue != 0 || s.Active != 2 {
		t.Errorf("%+v", s)
	}
}

// TestDoorModel drives the door by random steps and checks after each that no
// budget is exceeded, nothing is lost and the order of starts is that of
// acceptance.
func TestDoorModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Active:  rapid.IntRange(1, 4).Draw(t, "active"),
			Waiting: rapid.IntRange(0, 4).Draw(t, "waiting"),
			Overdue: rapid.IntRange(0, 3).Draw(t, "overdue"),
		}
		m := &doorModel{door: openDoor(limits), limits: limits, inOrder: true}
		t.Repeat(map[string]func(*rapid.T){
			"reserve":  m.reserve,
			"commit":   func(t *rapid.T) { m.commit(t, false) },
			"giveBack": func(t *rapid.T) { m.commit(t, true) },
			"finish":   m.finish,
			"expire":   func(*rapid.T) { m.starts(m.door.expire(time.Now().Add(time.Hour))) },
			"":         m.check,
		})
	})
}

type doorModel struct {
	door     *door
	limits   Limits
	reserved []uuid.UUID // not committed
	accepted []uuid.UUID // committed, in the order of reservation once sorted
	started  []uuid.UUID
	finished int

	lastPromoted uuid.UUID
	inOrder      bool
}

func (m *doorModel) starts(orders []order) {
	for _, o := range orders {
		m.started = append(m.started, o.ID)
		if !o.noted { // it waited
			m.inOrder = m.inOrder && slices.Compare(m.lastPromoted[:], o.ID[:]) < 0
			m.lastPromoted = o.ID
		}
	}
}

func (m *doorModel) reserve(t *rapid.T) {
	s := m.door.stats()
	o, no := m.door.reserve(order{})
	room := s.Active < m.limits.Active && s.Waiting == 0 || s.Waiting < m.limits.Waiting
	if room != (no == admitted) {
		t.Fatalf("room %v, but the answer is %d at %+v", room, no, s)
	}
	if no == admitted {
		m.reserved = append(m.reserved, o.ID)
	}
}

func (m *doorModel) commit(t *rapid.T, fail bool) {
	if len(m.reserved) == 0 {
		t.Skip("nothing reserved")
	}
	i := rapid.IntRange(0, len(m.reserved)-1).Draw(t, "which")
	id := m.reserved[i]
	m.reserved = slices.Delete(m.reserved, i, i+1)
	if fail {
		m.starts(m.door.giveBack(id))
		return
	}
	m.accepted = append(m.accepted, id)
	m.starts(m.door.commit(id))
}

func (m *doorModel) finish(t *rapid.T) {
	held := m.door.held()
	if len(held) == 0 {
		t.Skip("nothing runs")
	}
	slices.SortFunc(held, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	m.starts(m.door.finish(rapid.SampledFrom(held).Draw(t, "which")))
	m.finished++
}

func (m *doorModel) check(t *rapid.T) {
	s := m.door.stats()
	if s.Active > m.limits.Active || s.Waiting > m.limits.Waiting || s.Overdue > m.limits.Overdue {
		t.Fatalf("a budget is exceeded: %+v", s)
	}
	if got := s.Active + s.Waiting + s.Overdue + m.finished; got != len(m.reserved)+len(m.accepted) {
		t.Fatalf("%d places for %d bookings", got, len(m.reserved)+len(m.accepted))
	}
	if len(m.started) != len(m.door.held())+m.finished {
		t.Fatalf("started %d, but %d run and %d are finished", len(m.started), len(m.door.held()), m.finished)
	}
	if !m.inOrder {
		t.Fatal("bookings that waited were not started in the order of acceptance")
	}
	if s.Waiting > 0 && s.Active < m.limits.Active && m.door.waiting[0].committed {
		t.Fatalf("a booking waits beside a free slot: %+v", s)
	}
}

// A door that finished 80 sagas a second does so again after an outage. What the
// outage lets through, now and then, must not keep clients away for long.
func TestRetryAfterForgetsAnOutage(t *testing.T) {
	for name, before := range map[string]int{"busy before": 1000, "idle before": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := openDoor(Limits{Active: 64, Waiting: 256, Overdue: 64})
				refill := func() {
					for {
						o, no := d.reserve(order{})
						if no != admitted {
							return
						}
						d.commit(o.ID)
					}
				}
				finish := func(every time.Duration, n int) {
					for range n {
						time.Sleep(every)
						d.finish(d.held()[0])
						refill()
					}
				}
				most := func() (most time.Duration) {
					for range 1000 { // clients that are refused
						most = max(most, d.retryAfter())
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
		d := openDoor(Limits{Active: 4, Waiting: 4, Overdue: 4})
		for range 100 {
			o, _ := d.reserve(order{})
			d.commit(o.ID)
			time.Sleep(10 * time.Millisecond)
			d.finish(o.ID)
			time.Sleep(time.Minute)
		}
		for range 8 {
			o, _ := d.reserve(order{})
			d.commit(o.ID)
		}
		time.Sleep(10 * time.Millisecond)
		d.finish(d.held()...) // four, after 10 ms
		for range 100 {
			if got := d.retryAfter(); got > time.Second {
				t.Fatalf("a door that is full for a moment sends clients away for %s", got)
			}
		}
	})
}
