package booking

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
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

func toJSON(b row.Booking) bookingJSON {
	j := bookingJSON{
		ID: b.ID, Seat: b.Seat, Customer: b.Customer, Amount: b.Amount, Status: b.Status, Reason: b.Reason,
		TraceID: b.TraceID, CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(),
	}
	if b.Status == Cancelled {
		j.SeatReleased = &b.SeatReleased
	}
	return j
}

// answerWithin is how long a client of POST /bookings waits for its answer at
// most, beyond the wait that it asked for. The contract says 10 s.
const answerWithin = 9 * time.Second

// headerReplayed says that an answer repeats an earlier booking.
const headerReplayed = "Idempotent-Replayed"

// postBooking reads the request, books, waits for the outcome if the client
// prefers that, and answers 202.
func (s *Service) postBooking(c echo.Context) error {
	ask, err := readRequest(c)
	if err != nil {
		return err
	}
	ctx, err := s.withFaults(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin+ask.wait)
	defer cancel()
	waiting := waiter{in: s.waiters, wait: ask.wait}
	defer waiting.stop()
	b, replayed, err := s.book(ctx, ask, waiting.watch)
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

// getBooking shows one booking, after its outcome or the wait.
func (s *Service) getBooking(c echo.Context) error {
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return httpserver.NotFound("There is no such booking: its id is a UUID.")
	}
	wait, err := queriedWait(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	waiting := waiter{in: s.waiters, wait: wait}
	defer waiting.stop()
	waiting.watch(id) // before the look, so that no outcome slips between
	b, err := s.store.Get(ctx, id)
	if err == nil {
		b, err = s.awaitOutcome(ctx, b, &waiting)
	}
	if errors.Is(err, store.ErrNotFound) {
		return httpserver.NotFound("There is no booking " + id.String() + ".")
	}
	if err != nil {
		return storeDown(err)
	}
	return c.JSON(http.StatusOK, toJSON(b))
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
	ctx, cancel := context.WithTimeout(c.Request().Context(), store.Timeout)
	defer cancel()
	found, err := s.store.List(ctx, status, page.After, page.Limit+1)
	if err != nil {
		return storeDown(err)
	}
	shown, next := httpserver.Cut(found, page.Limit, func(b row.Booking) string { return b.ID.String() }, toJSON)
	return c.JSON(http.StatusOK, pageJSON{Bookings: shown, Next: next})
}
