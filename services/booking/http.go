package booking

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/messaging"
)

// bookingJSON is a booking as clients see it.
type bookingJSON struct {
	ID           uuid.UUID        `json:"id"`
	Seat         int              `json:"seat"`
	Customer     string           `json:"customer"`
	Amount       messaging.Amount `json:"amount"`
	Status       Status           `json:"status"`
	Reason       string           `json:"reason,omitempty"`
	SeatReleased *bool            `json:"seatReleased,omitempty"` // of a Cancelled booking only
	TraceID      string           `json:"traceId"`
	CreatedAt    time.Time        `json:"createdAt"`
	UpdatedAt    time.Time        `json:"updatedAt"`
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
		Seat:     o.Int("seat", 1, messaging.MaxSeat),
		Customer: o.Text("customer", 1, 200),
		Amount:   httpserver.Field(o, "amount", readAmount),
		Status:   Pending,
	}
	return b, o.Err()
}

func readAmount(raw json.RawMessage) (messaging.Amount, error) {
	var a messaging.Amount
	highest := messaging.AmountFromMinor(maxAmount * 100)
	if err := a.UnmarshalJSON(raw); err != nil || !a.IsPositive() || a.Cmp(highest) > 0 {
		return a, errors.New("must be a number above 0 and at most 1000000, with at most two decimals")
	}
	return a, nil
}

// postBooking reserves a place in the door, commits the row, and answers 202.
// The saga starts from the row.
func (s *Service) postBooking(c echo.Context) error {
	wish, err := readWish(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	wish.TraceID = trace.SpanContextFromContext(ctx).TraceID().String()
	o := order{Booking: wish, carrier: make(carrier)}
	s.tel.Propagator.Inject(ctx, propagation.MapCarrier(o.carrier))
	o, no := s.door.reserve(o)
	if no != admitted {
		return s.refuse(no)
	}
	// The commit does not hang on the client's connection.
	if err := s.store.insert(context.WithoutCancel(ctx), o); err != nil {
		return s.notWritten(o, err)
	}
	s.starter.add(s.door.commit(o.ID)...)
	c.Response().Header().Set(echo.HeaderLocation, "/bookings/"+o.ID.String())
	return c.JSON(http.StatusAccepted, toJSON(o.Booking))
}

// notWritten gives the place back, unless the row may have been written all
// the same: then the place stays taken until reconcile has looked.
func (s *Service) notWritten(o order, err error) error {
	if database.NotCommitted(err) {
		s.starter.add(s.door.giveBack(o.ID)...)
	} else {
		s.door.doubt(o.ID)
	}
	return httpserver.Unavailable("The booking could not be stored; nothing was booked. Try again.", time.Second, err)
}

// refuse says why the door takes no booking.
func (s *Service) refuse(r refusal) error {
	if r == draining {
		return httpserver.Unavailable("The service takes no bookings at the moment.", 5*time.Second, nil)
	}
	return &httpserver.Problem{
		Status: http.StatusTooManyRequests, RetryAfter: s.door.retryAfter(),
		Detail: "As many bookings as may run or wait at a time do. Try again later.",
	}
}

func (s *Service) getBooking(c echo.Context) error {
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return httpserver.NotFound("There is no such booking: its id is a UUID.")
	}
	b, err := s.store.get(c.Request().Context(), id)
	if errors.Is(err, errNotFound) {
		return httpserver.NotFound("There is no booking " + id.String() + ".")
	}
	if err != nil {
		return httpserver.Unavailable("The store does not answer.", time.Second, err)
	}
	return c.JSON(http.StatusOK, toJSON(b))
}

type pageJSON struct {
	Bookings []bookingJSON `json:"bookings"`
	Next     string        `json:"next,omitempty"`
}

func (s *Service) listBookings(c echo.Context) error {
	limit, cursor, err := httpserver.Paging{Default: 100, Max: 1000}.Page(c)
	if err != nil {
		return err
	}
	var after uuid.UUID
	if cursor != "" {
		if after, err = uuid.Parse(cursor); err != nil {
			return httpserver.BadQuery("after", "must be the next of an earlier page")
		}
	}
	status := Status(c.QueryParam("status"))
	switch status {
	case "", Pending, Confirmed, Rejected, Cancelled:
	default:
		return httpserver.BadQuery("status", "must be Pending, Confirmed, Rejected or Cancelled")
	}
	found, err := s.store.list(c.Request().Context(), status, after, limit+1)
	if err != nil {
		return httpserver.Unavailable("The store does not answer.", time.Second, err)
	}
	page := pageJSON{Bookings: make([]bookingJSON, 0, min(len(found), limit))}
	if len(found) > limit {
		found = found[:limit]
		page.Next = found[limit-1].ID.String()
	}
	for _, b := range found {
		page.Bookings = append(page.Bookings, toJSON(b))
	}
	return c.JSON(http.StatusOK, page)
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
	var err error
	stats.Stalled, err = s.store.stalled(c.Request().Context(), time.Now(), s.cfg.RedriveLimit)
	if err != nil {
		return httpserver.Unavailable("The store does not answer.", time.Second, err)
	}
	return c.JSON(http.StatusOK, stats)
}
