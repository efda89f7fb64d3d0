package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/internal/verify"
	"boxoffice/tickets"
)

// The load of the recovery tests, on a hall of 100 seats.
const (
	loadSize   = 200
	loadMiddle = 60 // accepted when the fault strikes
	loadSeats  = "SEATS_TOTAL=100"
)

// load books from several clients, each of which asks again until its booking
// is accepted.
type load struct {
	size     int
	middle   chan struct{} // closed when the first are accepted
	goOn     chan struct{} // closed by the test, for the others
	done     chan struct{}
	refusals atomic.Int64 // answers other than 202, and none at all

	mu       sync.Mutex
	accepted []uuid.UUID
}

// startLoad books until the middle, and then waits for goOn.
func startLoad(t *testing.T, c *client.Client, size, middle int) *load {
	t.Helper()
	l := &load{size: size, middle: make(chan struct{}), goOn: make(chan struct{}), done: make(chan struct{})}
	var next atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= size {
					return
				}
				if i >= middle {
					select {
					case <-l.goOn:
					case <-ctx.Done():
						return
					}
				}
				if err := l.insist(ctx, c, wish(i), middle); err != nil {
					if ctx.Err() == nil { // else the test has ended
						t.Errorf("booking %d: %v", i, err)
					}
					return
				}
			}
		})
	}
	go func() { clients.Wait(); close(l.done) }()
	t.Cleanup(func() { cancel(); <-l.done })
	return l
}

// wish asks for most seats twice, for some that the hall does not have, and now
// and then for more than the card bears. Whatever the order, seat 95 is given
// back and some other is sold.
func wish(i int) client.Wish {
	w := client.Wish{Seat: 1 + i%110, Customer: fmt.Sprintf("customer %d", i), Amount: tickets.AmountFromMinor(int64(10_000 + i))}
	if i%7 == 3 {
		w.Amount = tickets.MustAmount("1500")
	}
	return w
}

func (l *load) insist(ctx context.Context, c *client.Client, w client.Wish, middle int) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		b, err := c.Book(ctx, w)
		if err == nil {
			return l.accept(b, middle)
		}
		l.refusals.Add(1)
		if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Status != http.StatusServiceUnavailable && p.Status != http.StatusGatewayTimeout {
			return err
		} else if !ok && !errors.Is(err, client.ErrUnreachable) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (l *load) accept(b client.Booking, middle int) error {
	id, err := uuid.Parse(b.ID)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = append(l.accepted, id)
	if len(l.accepted) == middle {
		close(l.middle)
	}
	return nil
}

// wait returns when channel is closed.
func (l *load) wait(t *testing.T, channel <-chan struct{}) {
	t.Helper()
	select {
	case <-channel:
	case <-time.After(2 * patience):
		t.Fatalf("it does not come; %d refusals", l.refusals.Load())
	}
}

// all waits until every booking is accepted, and returns them.
func (l *load) all(t *testing.T) []uuid.UUID {
	t.Helper()
	l.wait(t, l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.accepted) != l.size {
		t.Fatalf("%d of %d bookings were accepted", len(l.accepted), l.size)
	}
	return l.accepted
}

// refused waits until a client was.
func (l *load) refused(t *testing.T) {
	t.Helper()
	eventually(t, "wait for a refusal", func(context.Context) error {
		if l.refusals.Load() == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

// everyOutcome fails unless all three occur.
func everyOutcome(t *testing.T, bookings []verify.Booking) {
	t.Helper()
	count := map[string]int{}
	for _, b := range bookings {
		count[b.Status]++
	}
	if count["Confirmed"] == 0 || count["Rejected"] == 0 || count["Cancelled"] == 0 {
		t.Errorf("the outcomes are %v", count)
	}
}
