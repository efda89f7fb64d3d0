package booking

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/tickets"
)

// bookingJSON is a booking as clients see it.
type bookingJSON struct {
	ID           uuid.UUID      `json:"id"`
	Seat         int            `json:"seat"`
	Customer     string         `json:"customer"`
	Amount       tickets.Amount `json:"amount"`
	Status       Status         `json:"status"`
	Reason       string         `json:"reason,omitempty"`
	SeatReleased *bool          `json:"seatReleased,omitempty"` // of a Cancelled booking only
	TraceID      string         `json:"traceId"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
}

func toJSON(b Booking) bookingJSON {
	j := bookingJSON{
		ID: b.ID, Seat: b.Seat, Customer: b.Customer, Amount: b.Amount, Status: b.Status, Reason: b.Reason,
		TraceID: b.TraceID, CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(),
	}
	if b.Status == Cancelled {
		j.SeatReleased = &b.SeatReleased
	}
	return j
}

// maxAmount is the highest amount that can be booked.
const maxAmount = 1_000_000

// readWish reads the body of POST /bookings.
func readWish(c echo.Context) (Booking, error) {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return Booking{}, err
	}
	b := Booking{
		Seat:     o.Int("seat", 1, tickets.MaxSeat),
		Customer: o.Text("customer", 1, 200),
		Amount:   httpserver.Field(o, "amount", readAmount),
		Status:   Pending,
	}
	return b, o.Err()
}

func readAmount(raw json.RawMessage) (tickets.Amount, error) {
	var a tickets.Amount
	highest := tickets.AmountFromMinor(maxAmount * 100)
	if err := a.UnmarshalJSON(raw); err != nil || !a.IsPositive() || a.Cmp(highest) > 0 {
		return a, errors.New("must be a number above 0 and at most 1000000, with at most two decimals")
	}
	return a, nil
}

// answerWithin is how long a client of POST /bookings waits for its answer at
// most, beyond the wait that it asked for. The contract says 10 s.
const answerWithin = 9 * time.Second

// postBooking books, waits for the outcome if the client prefers that, and
// answers 202.
func (s *Service) postBooking(c echo.Context) error {
	wish, err := readWish(c)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	wait, err := preferredWait(c)
	if err != nil {
		return err
	}
	ctx, err := s.withFaults(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin+wait)
	defer cancel()
	waiting := waiter{in: s.waiters, wait: wait}
	defer waiting.stop()
	b, replayed, err := s.book(ctx, wish, key, waiting.watch)
	if err != nil {
		return err
	}
	if now, err := s.awaitOutcome(ctx, b, &waiting); err == nil {
		b = now
	} // else it is booked all the same: an error must not say that nothing was
	if replayed {
		c.Response().Header().Set(headerReplayed, "true")
	}
	s.metrics.answer(ctx, http.StatusAccepted)
	c.Response().Header().Set(echo.HeaderLocation, "/bookings/"+b.ID.String())
	return c.JSON(http.StatusAccepted, toJSON(b))
}

type pageJSON struct {
	Bookings []bookingJSON `json:"bookings"`
	Next     string        `json:"next,omitempty"`
}

func (s *Service) listBookings(c echo.Context) error {
	page, err := httpserver.ReadPage(c, httpserver.Paging{Default: 100, Max: 1000}, uuid.Parse)
	if err != nil {
		return err
	}
	status := Status(c.QueryParam("status"))
	switch status {
	case "", Pending, Confirmed, Rejected, Cancelled:
	default:
		return httpserver.BadQuery("status", "must be Pending, Confirmed, Rejected or Cancelled")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	found, err := s.store.list(ctx, status, page.After, page.Limit+1)
	if err != nil {
		return storeDown(err)
	}
	shown, next := httpserver.Cut(found, page.Limit, func(b Booking) string { return b.ID.String() }, toJSON)
	return c.JSON(http.StatusOK, pageJSON{Bookings: shown, Next: next})
}

func (s *Service) getStats(c echo.Context) error {
	stats := s.door.stats()
	stats.Instance = s.cfg.Instance
	stats.Confirmed, stats.Rejected, stats.Cancelled = s.counts.confirmed.Load(), s.counts.rejected.Load(), s.counts.cancelled.Load()
	stats.Redriven, stats.Conflicts = s.counts.redriven.Load(), s.counts.conflicts.Load()
	stats.Broker = "ok"
	if err := s.broker.Ready(); err != nil {
		stats.Broker = err.Error()
	}
	for _, f := range s.readiness.Known(c.Request().Context()) {
		stats.NotReady = append(stats.NotReady, f.Name)
	}
	stats.Stalled = int(s.counts.stalled.Load())
	return c.JSON(http.StatusOK, stats)
}
