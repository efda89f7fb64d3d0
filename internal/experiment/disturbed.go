package experiment

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/verify"
)

// disturbance is what others did on the stack while the experiment ran, or "".
// It goes by the bookings that they made, as any other client does, and another
// experiment right after it breaks something. Refusals leave nothing to be seen.
func (s *Stage) disturbance(ctx context.Context) (string, error) {
	now, err := verify.Take(ctx, s.http, s.Targets)
	if err != nil {
		return "", err
	}
	n := s.others(now)
	if n > 0 && s.Own { // nobody else is there: a booking was kept that was refused
		s.violates(verify.Violation{Invariant: 1, Text: fmt.Sprintf("%d of the bookings were not accepted, and exist", n)})
		return "", nil
	}
	if n == 1 {
		return "1 booking that is not of this experiment was made meanwhile", nil
	} else if n > 1 {
		return fmt.Sprintf("%d bookings that are not of this experiment were made meanwhile", n), nil
	}
	if s.emptied(now) {
		return "the services were emptied meanwhile", nil
	}
	return "", nil
}

// others is how many bookings were made that cannot be ours.
func (s *Stage) others(now verify.Snapshot) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := make(map[uuid.UUID]bool, len(s.accepted))
	for _, id := range s.accepted {
		ours[id] = true
	}
	n := -s.unanswered
	for _, b := range now.Bookings {
		if !s.before[b.ID] && !ours[b.ID] {
			n++
		}
	}
	return max(0, n)
}

// emptied reports whether nothing is left anywhere of all the bookings that
// there were before. That one of ours is lost is another matter.
func (s *Stage) emptied(now verify.Snapshot) bool {
	for _, b := range now.Bookings {
		if s.before[b.ID] {
			return false
		}
	}
	for _, r := range now.Reservations {
		if s.before[r.BookingID] {
			return false
		}
	}
	for _, p := range now.Payments {
		if s.before[p.BookingID] {
			return false
		}
	}
	return len(s.before) > 0
}

// asks counts tries to book that have no answer yet.
func (s *Stage) asks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered += n
}
