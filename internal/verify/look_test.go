package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

// looks is snapshots one after the other, the last again and again.
type looks struct {
	snapshots []func(*Snapshot)
	taken     int
}

func (l *looks) take(context.Context) (Snapshot, error) {
	s, _, _, _ := good()
	l.snapshots[min(l.taken, len(l.snapshots)-1)](&s)
	l.taken++
	return s, nil
}

func nothing(*Snapshot) {}

func TestLook(t *testing.T) {
	running, next := uuid.New(), uuid.New()
	begins := func(id uuid.UUID) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Bookings = append(s.Bookings, Booking{ID: id, Seat: 8, Amount: s.Bookings[0].Amount, Status: "Pending"})
		}
	}
	charged := uuid.New()
	broken := func(s *Snapshot) { s.charge(charged) }
	ends := func(s *Snapshot) { // as none should
		begins(running)(s)
		s.Bookings[3].Status, s.Bookings[3].SeatReleased = "Cancelled", true
		s.Held = append(s.Held, Held{8, running})
		s.Free--
		s.charge(running)
		s.Payments = append(s.Payments, Payment{running, s.Bookings[3].Amount, "succeeded"})
	}
	both := func(s *Snapshot) { begins(running)(s); broken(s) }
	sold := func(n int) func(*Snapshot) { // with one seat too many
		return func(s *Snapshot) { s.Total, s.Free = 100+n, 100+n }
	}
	for name, c := range map[string]struct {
		snapshots []func(*Snapshot)
		found     []int // invariants
		taken     int
	}{
		"nothing wrong":                    {[]func(*Snapshot){nothing}, nil, 1},
		"on its way":                       {[]func(*Snapshot){begins(running), nothing}, nil, 2},
		"on its way for longer":            {[]func(*Snapshot){begins(running), begins(running), begins(running), begins(running), nothing}, nil, 5},
		"one after the other":              {[]func(*Snapshot){begins(running), begins(next), begins(uuid.New())}, nil, 2},
		"on its way, and then broken":      {[]func(*Snapshot){begins(running), ends, ends}, []int{4, 3, 3}, 3},
		"broken for a moment":              {[]func(*Snapshot){begins(running), ends, nothing}, nil, 3},
		"broken":                           {[]func(*Snapshot){broken}, []int{3}, 2},
		"broken, and one on its way":       {[]func(*Snapshot){both, both, both, broken}, []int{3}, 4},
		"stuck":                            {[]func(*Snapshot){begins(running)}, []int{1}, 5},
		"broken, while others change much": {[]func(*Snapshot){sold(1), sold(2)}, []int{4}, 2},
		"another surplus each time":        {[]func(*Snapshot){sold(1), func(s *Snapshot) { s.Free-- }}, nil, 2},
		"pages that do not fit together":   {[]func(*Snapshot){func(s *Snapshot) { s.Free, s.seatsMoved = 3, true }}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &looks{snapshots: c.snapshots}
				_, found, err := Look(t.Context(), l.take, time.Second)
				var got []int
				for _, v := range found {
					got = append(got, v.Invariant)
				}
				if err != nil || !slices.Equal(got, c.found) || l.taken != c.taken {
					t.Errorf("%v %v after %d looks, want %v after %d", found, err, l.taken, c.found, c.taken)
				}
			})
		})
	}
}

func TestLookAtWhatBreaksInAnotherWayEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		_, found, err := Look(t.Context(), func(context.Context) (Snapshot, error) {
			s, _, _, _ := good()
			s.Bookings[1].ID, s.Reservations[1].BookingID = uuid.Max, uuid.Max
			if n++; n%2 == 0 {
				s.charge(uuid.Max)
			} else {
				s.Held, s.Free = append(s.Held, Held{6, uuid.Max}), s.Free-1
			}
			return s, nil
		}, time.Second)
		if err != nil || len(found) != 1 || found[0].BookingID != uuid.Max || n != mostLooks {
			t.Errorf("%v %v after %d looks", found, err, n)
		}
	})
}

func TestLookGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		n := 0
		_, _, err := Look(t.Context(), func(context.Context) (Snapshot, error) {
			if n++; n == 2 {
				return Snapshot{}, away
			}
			return Snapshot{Total: 1}, nil
		}, time.Second)
		if !errors.Is(err, away) {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err = Look(ctx, func(context.Context) (Snapshot, error) {
			cancel()
			return Snapshot{Total: 1}, nil
		}, time.Second)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// Seats that are sold between two pages do not make the hall too small.
func TestPagesOfAHallThatSells(t *testing.T) {
	for free, want := range map[int]int{7: 1, 6: 0} { // on the second page
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/seats":
				_, _ = io.WriteString(w, "{}")
			case r.FormValue("after") == "":
				_, _ = io.WriteString(w, `{"total":10,"free":7,"held":[{"seat":1,"bookingId":"01990000-0000-7000-8000-000000000001"}],"next":"1"}`)
			default:
				fmt.Fprintf(w, `{"total":10,"free":%d,"held":[]}`, free)
			}
		}))
		s, err := Take(t.Context(), server.Client(), Targets{server.URL, server.URL, server.URL})
		server.Close()
		n := 0
		for _, v := range Check(s) {
			if v.Invariant == 4 {
				n++
			}
		}
		if err != nil || n != want {
			t.Errorf("%d free on the second page: %d violations of invariant 4, want %d (%v)", free, n, want, err)
		}
	}
}
