package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"boxoffice/internal/client"
)

// book is a booking service whose bookings a test moves on.
type book struct {
	mu       sync.Mutex
	stats    client.Stats
	bookings []client.Booking
	read     int // rows
}

func (b *book) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.URL.Path == "/stats" {
		_ = json.NewEncoder(w).Encode(b.stats)
		return
	}
	var p client.Page
	for _, one := range b.bookings {
		if one.Status == r.FormValue("status") && one.ID > r.FormValue("after") {
			if fmt.Sprint(len(p.Bookings)) == r.FormValue("limit") || len(p.Bookings) == 2 {
				p.Next = p.Bookings[len(p.Bookings)-1].ID
				break
			}
			p.Bookings = append(p.Bookings, one)
		}
	}
	b.read += len(p.Bookings)
	_ = json.NewEncoder(w).Encode(p)
}

// Each reason is told until it goes away, and bookings that were found finished
// are not read again.
func TestQuiet(t *testing.T) {
	b := &book{stats: client.Stats{Active: 2, Waiting: 1}, bookings: []client.Booking{
		{ID: "1", Status: "Cancelled", SeatReleased: true},
		{ID: "2", Status: "Pending"},
		{ID: "3", Status: "Cancelled", SeatReleased: true},
		{ID: "4", Status: "Cancelled"},
		{ID: "5", Status: "Confirmed"},
	}}
	c := serve(t, b.ServeHTTP)
	var told []string
	why, err := c.Quiet(t.Context(), time.Minute, func(why string) {
		told = append(told, why)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch len(told) {
		case 1:
			b.stats = client.Stats{}
		case 2:
			b.bookings[1].Status = "Cancelled"
		case 3:
			b.bookings[1].SeatReleased = true
		case 4:
			b.read = 0
			b.bookings[3].SeatReleased = true
		}
	})
	want := []string{
		"2 active, 1 waiting", "booking 2 is Pending", "booking 2 is Cancelled, and its seat not free yet",
		"booking 4 is Cancelled, and its seat not free yet", "",
	}
	if err != nil || why != "" || !slices.Equal(told, want) || b.read != 1 {
		t.Errorf("%q %v, told %q, read %d rows at last", why, err, told, b.read)
	}
}

func TestQuietHasALimit(t *testing.T) {
	b := &book{stats: client.Stats{Overdue: 1, Stalled: 1}}
	c := serve(t, b.ServeHTTP)
	if why, err := c.Quiet(t.Context(), 50*time.Millisecond, nil); why != "1 overdue, 1 stalled" || err != nil {
		t.Errorf("%q %v", why, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Quiet(ctx, time.Minute, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	gone := connect(t, closed(t))
	if _, err := gone.Quiet(t.Context(), 50*time.Millisecond, nil); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("away: %v", err)
	}
}

// A service that hangs while it is waited for is as good as away.
func TestQuietOfAServiceThatHangs(t *testing.T) {
	t.Parallel()
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := c.Quiet(t.Context(), 50*time.Millisecond, nil)
	if want := c.String() + " cannot be reached: no answer within 10s"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
