package load

import (
	"math/rand/v2"
	"sync"
)

// Choice is how seats are drawn.
type Choice string

// The choices.
const (
	Unique Choice = "unique" // each seat once: nobody is rejected in an empty hall
	Random Choice = "random"
	Hot    Choice = "hot" // four of five bookings want a seat of the first fifth
)

// seats draws seats.
type seats struct {
	total  int
	choice Choice

	mu       sync.Mutex
	next     int // of the unique seats, in the order below
	returned []int
	start    int
	step     int // has no divisor in common with total, so that each seat comes up once
}

func newSeats(total int, c Choice) *seats {
	s := &seats{total: total, choice: c, start: rand.IntN(total), step: 1 + rand.IntN(total)}
	for gcd(s.step, total) != 1 {
		s.step = 1 + s.step%total
	}
	return s
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// draw is the next seat, or false when each was drawn.
func (s *seats) draw() (int, bool) {
	switch s.choice {
	case Random:
		return 1 + rand.IntN(s.total), true
	case Hot:
		if first := max(1, s.total/5); rand.IntN(5) > 0 {
			return 1 + rand.IntN(first), true
		}
		return 1 + rand.IntN(s.total), true
	case Unique:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.returned); n > 0 {
		seat := s.returned[n-1]
		s.returned = s.returned[:n-1]
		return seat, true
	}
	if s.next == s.total {
		return 0, false
	}
	seat := 1 + (s.start+s.next*s.step)%s.total
	s.next++
	return seat, true
}

// giveBack says that a seat that was drawn was not booked.
func (s *seats) giveBack(seat int) {
	if s.choice != Unique {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned = append(s.returned, seat)
}
