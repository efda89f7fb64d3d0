package load

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a booking service as the generator sees it, in virtual time.
type service struct {
	answer func(n int) (after time.Duration, err error) // to the n-th request, from 0
	saga   func(n int) (took time.Duration, status string)

	mu       sync.Mutex
	requests []request
	bookings []client.Booking
	looks    int
}

type request struct {
	client.Wish
	at time.Time
}

func (s *service) Book(ctx context.Context, w client.Wish) (client.Booking, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, request{w, time.Now()})
	s.mu.Unlock()
	if s.answer != nil {
		after, err := s.answer(n)
		if !sleep(ctx, after) {
			return client.Booking{}, context.Cause(ctx)
		}
		if err != nil {
			return client.Booking{}, err
		}
	}
	took, status := 100*time.Millisecond, "Confirmed"
	if s.saga != nil {
		took, status = s.saga(n)
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	b := client.Booking{
		ID:   fmt.Sprintf("00000000-0000-7000-8000-%012x", len(s.bookings)+1),
		Seat: w.Seat, Status: status, SeatReleased: true, CreatedAt: now, UpdatedAt: now.Add(took),
	}
	s.bookings = append(s.bookings, b)
	return at(b, now), nil
}

// at is how a booking looks at a time.
func at(b client.Booking, now time.Time) client.Booking {
	if now.Before(b.UpdatedAt) {
		b.Status, b.UpdatedAt = "Pending", b.CreatedAt
	}
	return b
}

func (s *service) Finish(ctx context.Context, b client.Booking) (client.Booking, error) {
	s.mu.Lock()
	for _, known := range s.bookings {
		if known.ID == b.ID {
			b = known
		}
	}
	s.mu.Unlock()
	if !sleep(ctx, time.Until(b.UpdatedAt)) {
		return b, context.Cause(ctx)
	}
	return b, nil
}

// Bookings gives pages of 3, whatever the limit.
func (s *service) Bookings(_ context.Context, _, after string, _ int) (client.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	var p client.Page
	for _, b := range s.bookings {
		if b.ID <= after {
			continue
		}
		if len(p.Bookings) == 3 {
			p.Next = p.Bookings[2].ID
			break
		}
		p.Bookings = append(p.Bookings, at(b, time.Now()))
	}
	return p, nil
}

func config(m Mode) Config {
	return Config{
		Mode: m, Rate: 100, MaxOutstanding: 1000, Concurrency: 4, Duration: 2995 * time.Millisecond, Settle: time.Minute,
		Seats: 1000, Choice: Unique, Amount: tickets.MustAmount("100"),
	}
}
