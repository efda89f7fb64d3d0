package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"boxoffice/tickets"
)

// Targets are where the three services answer, without a slash at the end.
type Targets struct{ Booking, Seats, Payments string }

// Booking is a booking as the booking service shows it.
type Booking struct {
	ID           uuid.UUID      `json:"id"`
	Seat         int            `json:"seat"`
	Amount       tickets.Amount `json:"amount"`
	Status       string         `json:"status"`
	SeatReleased bool           `json:"seatReleased"`
	TraceID      string         `json:"traceId"`
}

func (b Booking) finished() bool {
	return b.known() && b.Status != "Pending" && (b.Status != "Cancelled" || b.SeatReleased)
}

func (b Booking) known() bool {
	return slices.Contains([]string{"Pending", "Confirmed", "Rejected", "Cancelled"}, b.Status)
}

// Held is a seat and the booking that holds it.
type Held struct {
	Seat      int       `json:"seat"`
	BookingID uuid.UUID `json:"bookingId"`
}

// Reservation is a row of the seats service.
type Reservation struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Status    string    `json:"status"`
}

// Payment is a row of the payments service.
type Payment struct {
	BookingID uuid.UUID      `json:"bookingId"`
	Amount    tickets.Amount `json:"amount"`
	Status    string         `json:"status"`
}

// Charge is a charge in the bank's books, which are the payments service's no more
// than a bank's are: it may have no payment.
type Charge struct {
	BookingID uuid.UUID      `json:"bookingId"`
	Amount    tickets.Amount `json:"amount"`
}

// Snapshot is what the services say. It is of one moment only if they are quiet.
type Snapshot struct {
	Bookings     []Booking
	Held         []Held
	Total, Free  int
	Reservations []Reservation
	Payments     []Payment
	Charges      []Charge

	// seatsMoved: some were sold or freed while the pages of the held ones were
	// read, which then may not add up.
	seatsMoved bool
}

type page struct {
	Bookings     []Booking     `json:"bookings"`
	Held         []Held        `json:"held"`
	Total        int           `json:"total"`
	Free         int           `json:"free"`
	Reservations []Reservation `json:"reservations"`
	Payments     []Payment     `json:"payments"`
	Charges      []Charge      `json:"charges"`
	Next         string        `json:"next"`
}

// Take reads everything from the services, page by page. Its error names the
// service that did not answer.
func Take(ctx context.Context, client *http.Client, t Targets) (Snapshot, error) {
	return TakeWatched(ctx, client, t, func(int) {})
}

// TakeWatched is Take, and tells after each page how many rows were read.
func TakeWatched(ctx context.Context, client *http.Client, t Targets, tell func(rows int)) (Snapshot, error) {
	var s Snapshot
	for _, list := range []struct{ service, url string }{
		{tickets.Booking, t.Booking + "/bookings"},
		{tickets.Seats, t.Seats + "/seats"},
		{tickets.Seats, t.Seats + "/reservations"},
		{tickets.Payments, t.Payments + "/payments"},
		{tickets.Payments, t.Payments + "/charges"},
	} {
		for next := ""; ; {
			p, err := get(ctx, client, list.url+"?limit=1000&after="+url.QueryEscape(next))
			if err != nil {
				return s, fmt.Errorf("%s does not answer: %w", list.service, err)
			}
			s.Bookings = append(s.Bookings, p.Bookings...)
			s.Held = append(s.Held, p.Held...)
			s.Reservations = append(s.Reservations, p.Reservations...)
			s.Payments = append(s.Payments, p.Payments...)
			s.Charges = append(s.Charges, p.Charges...)
			if p.Total > 0 {
				s.seatsMoved = s.seatsMoved || s.Total > 0 && s.Free != p.Free
				s.Total, s.Free = p.Total, p.Free
			}
			tell(len(s.Bookings) + len(s.Held) + len(s.Reservations) + len(s.Payments) + len(s.Charges))
			if next = p.Next; next == "" {
				break
			}
		}
	}
	return s, nil
}

func get(ctx context.Context, client *http.Client, address string) (page, error) {
	var p page
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", address, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return p, fmt.Errorf("read: %w", err) // names the address
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", address, err)
	}
	if resp.StatusCode != http.StatusOK {
		return p, fmt.Errorf("read %s: %s: %.200s", address, resp.Status, body)
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", address, err)
	}
	return p, nil
}
