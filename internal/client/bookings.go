package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"boxoffice/tickets"
)

// Wish is what is to be booked.
type Wish struct {
	Seat     int            `json:"seat"`
	Customer string         `json:"customer"`
	Amount   tickets.Amount `json:"amount"`
	Fault    string         `json:"-"` // its fault script, or ""
}

// Booking is a booking as the service shows it.
type Booking struct {
	ID           string         `json:"id"`
	Seat         int            `json:"seat"`
	Customer     string         `json:"customer"`
	Amount       tickets.Amount `json:"amount"`
	Status       string         `json:"status"` // Pending, Confirmed, Rejected or Cancelled
	Reason       string         `json:"reason"`
	SeatReleased bool           `json:"seatReleased"`
	TraceID      string         `json:"traceId"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
}

// Finished reports whether nothing more will happen to the booking.
func (b Booking) Finished() bool {
	switch b.Status {
	case "Confirmed", "Rejected":
		return true
	case "Cancelled":
		return b.SeatReleased
	}
	return false
}

// Book asks for a booking. A nil error means that it was accepted.
func (c *Client) Book(ctx context.Context, w Wish) (Booking, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return Booking{}, fmt.Errorf("encode the booking: %w", err)
	}
	return c.booking(ctx, request{method: http.MethodPost, path: "bookings", body: body, fault: w.Fault})
}

// Booking looks a booking up.
func (c *Client) Booking(ctx context.Context, id string) (Booking, error) {
	return c.outcome(ctx, id, 0)
}

// outcome looks a booking up, once it is no longer Pending or the wait is over.
func (c *Client) outcome(ctx context.Context, id string, wait time.Duration) (Booking, error) {
	r := request{method: http.MethodGet, path: "bookings/" + url.PathEscape(id)}
	if wait > 0 {
		r.query = url.Values{"wait": {wait.String()}}
	}
	return c.booking(ctx, r)
}

// Page is a part of a list: next is where the following one begins, or "".
type Page struct {
	Bookings []Booking `json:"bookings"`
	Next     string    `json:"next"`
}

// Bookings is up to limit bookings after a cursor, oldest first, of one status or of all ("").
func (c *Client) Bookings(ctx context.Context, status, after string, limit int) (Page, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{"status": status, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var p Page
	err := c.Ask(ctx, "bookings", query, &p)
	return p, err
}

// Stats is what a client may want to know about the door.
type Stats struct {
	Accepting bool `json:"accepting"`
	Active    int  `json:"active"`
	Waiting   int  `json:"waiting"`
	Overdue   int  `json:"overdue"`
	Stalled   int  `json:"stalled"`
}

// Stats asks the booking service about its door.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := c.Ask(ctx, "stats", nil, &s)
	return s, err
}
