package door

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"boxoffice/services/booking/internal/row"
)

// recorder notes what a door hands over to be started.
type recorder struct{ started []row.Order }

func (r *recorder) start(o row.Order) { r.started = append(r.started, o) }

func (r *recorder) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(r.started))
	for i, o := range r.started {
		ids[i] = o.ID
	}
	return ids
}

func closedDoor(l Limits) (*Door, *recorder) {
	r := &recorder{}
	return New(l, r.start), r
}

func openDoor(l Limits) (*Door, *recorder) {
	d, r := closedDoor(l)
	d.Restore(nil, time.Minute)
	return d, r
}

// unfinished is a booking as an earlier run left it.
func unfinished(started bool, age time.Duration) row.Order {
	return row.Order{Booking: row.Booking{ID: uuid.Must(uuid.NewV7()), Status: row.Pending}, Started: started, Age: age}
}

func TestDoorIsClosedUntilRecovered(t *testing.T) {
	d, _ := closedDoor(Limits{Active: 1, Waiting: 1, Overdue: 1})
	if _, no := d.Reserve(row.Order{}); no != Starting {
		t.Errorf("a new door answers %d", no)
	}
	d.Drain(true)
	if _, no := d.Reserve(row.Order{}); no != Draining {
		t.Errorf("a new door that is drained answers %d", no)
	}
}

func TestDoorTakesExactlyItsBudgets(t *testing.T) {
	d, starter := openDoor(Limits{Active: 2, Waiting: 3, Overdue: 2})
	var ids []uuid.UUID
	for range 5 {
		o, no := d.Reserve(row.Order{})
		if no != Admitted {
			t.Fatalf("refused the booking after %d", len(ids))
		}
		ids = append(ids, o.ID)
		d.Commit(o.ID)
	}
	if _, no := d.Reserve(row.Order{}); no != Full {
		t.Errorf("the sixth booking: %d", no)
	}
	if s := d.Stats(); s.Active != 2 || s.Waiting != 3 || s.Accepted != 5 {
		t.Errorf("%+v", s)
	}
	for _, id := range ids {
		d.Finish(id, id)
	}
	if started := starter.ids(); !slices.Equal(started, ids) {
		t.Errorf("started %v, accepted %v", started, ids)
	}
}

func TestOverdueBookingsGiveTheirSlotsBackWhileThereIsRoom(t *testing.T) {
	d, starter := openDoor(Limits{Active: 2, Waiting: 4, Overdue: 1})
	for range 4 {
		o, _ := d.Reserve(row.Order{})
		d.Commit(o.ID)
	}
	d.Expire(time.Now().Add(time.Minute))
	if s := d.Stats(); len(starter.started) != 3 || s.Active != 2 || s.Overdue != 1 || s.Waiting != 1 {
		t.Errorf("started %d, %+v", len(starter.started), s)
	}
	for id := range d.overdue {
		d.Finish(id)
	}
	if s := d.Stats(); s.Overdue != 0 || s.Active != 2 {
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
		m := &doorModel{limits: limits, inOrder: true}
		m.door = New(limits, m.start)
		m.door.Restore(nil, time.Minute)
		t.Repeat(map[string]func(*rapid.T){
			"reserve":  m.reserve,
			"commit":   func(t *rapid.T) { m.commit(t, false) },
			"giveBack": func(t *rapid.T) { m.commit(t, true) },
			"finish":   m.finish,
			"expire":   func(*rapid.T) { m.door.Expire(time.Now().Add(time.Hour)) },
			"":         m.check,
		})
	})
}

type doorModel struct {
	door     *Door
	limits   Limits
	reserved []uuid.UUID // not committed
	accepted []uuid.UUID // committed, in the order of reservation once sorted
	started  []uuid.UUID
	finished int

	lastPromoted uuid.UUID
	inOrder      bool
}

// start notes what the door hands over.
func (m *doorModel) start(o row.Order) {
	m.started = append(m.started, o.ID)
	if !o.Started { // it waited
		m.inOrder = m.inOrder && slices.Compare(m.lastPromoted[:], o.ID[:]) < 0
		m.lastPromoted = o.ID
	}
}

func (m *doorModel) reserve(t *rapid.T) {
	s := m.door.Stats()
	o, no := m.door.Reserve(row.Order{})
	room := s.Active < m.limits.Active && s.Waiting == 0 || s.Waiting < m.limits.Waiting
	if room != (no == Admitted) {
		t.Fatalf("room %v, but the answer is %d at %+v", room, no, s)
	}
	if no == Admitted {
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
		m.door.GiveBack(id)
		return
	}
	m.accepted = append(m.accepted, id)
	m.door.Commit(id)
}

func (m *doorModel) finish(t *rapid.T) {
	held := m.door.Held()
	if len(held) == 0 {
		t.Skip("nothing runs")
	}
	slices.SortFunc(held, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	m.door.Finish(rapid.SampledFrom(held).Draw(t, "which"))
	m.finished++
}

func (m *doorModel) check(t *rapid.T) {
	s := m.door.Stats()
	if s.Active > m.limits.Active || s.Waiting > m.limits.Waiting || s.Overdue > m.limits.Overdue {
		t.Fatalf("a budget is exceeded: %+v", s)
	}
	if got := s.Active + s.Waiting + s.Overdue + m.finished; got != len(m.reserved)+len(m.accepted) {
		t.Fatalf("%d places for %d bookings", got, len(m.reserved)+len(m.accepted))
	}
	if len(m.started) != len(m.door.Held())+m.finished {
		t.Fatalf("started %d, but %d run and %d are finished", len(m.started), len(m.door.Held()), m.finished)
	}
	if !m.inOrder {
		t.Fatal("bookings that waited were not started in the order of acceptance")
	}
	if s.Waiting > 0 && s.Active < m.limits.Active && m.door.waiting[0].committed {
		t.Fatalf("a booking waits beside a free slot: %+v", s)
	}
}
