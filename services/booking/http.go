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

// book is the booking that was made with the key before, or a new one: it
// reserves a place in the door and commits the row, from which the saga starts.
// It calls watch with the booking's id before an outcome can be in.
func (s *Service) book(ctx context.Context, wish Booking, key string, watch func(uuid.UUID)) (b Booking, replayed bool, err error) {
	if key != "" {
		leave, err := s.keys.enter(ctx, key)
		if err != nil {
			return b, false, storeDown(err) // the client has gone
		}
		defer leave()
		if b, ok, err := s.replay(ctx, key, wish, watch); ok || err != nil {
			return b, ok, err
		}
	}
	o := order{Booking: wish, key: key, carrier: make(carrier)}
	o.TraceID = trace.SpanContextFromContext(ctx).TraceID().String()
	s.tel.Propagator.Inject(ctx, propagation.MapCarrier(o.carrier))
	if ctx.Err() != nil {
		return b, false, storeDown(ctx.Err()) // the client has gone: nothing is taken
	}
	o, no := s.door.reserve(o)
	if no != admitted {
		return b, false, s.refuse(ctx, no)
	}
	watch(o.ID)
	// The commit does not hang on the client's connection.
	written, err := s.store.insert(context.WithoutCancel(ctx), o)
	if err != nil && !database.NotCommitted(err) && s.isWritten(ctx, o.ID) {
		written, err = true, nil
	}
	if err != nil {
		return o.Booking, false, s.notWritten(ctx, o, err)
	}
	if !written { // another replica was faster with the same key
		s.starter.add(s.door.giveBack(o.ID)...)
		b, ok, err := s.replay(ctx, key, wish, watch)
		if err == nil && !ok {
			err = storeDown(errors.New("the row with the same Idempotency-Key is gone"))
		}
		return b, ok, err
	}
	s.starter.add(s.door.commit(o.ID)...)
	return o.Booking, false, nil
}

// isWritten looks, for a few seconds, whether a row is there whose commit
// nobody saw end.
func (s *Service) isWritten(ctx context.Context, id uuid.UUID) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitDoubt)
	defer cancel()
	again := time.NewTicker(commitDoubt / 10)
	defer again.Stop()
	for {
		found, err := s.store.written(ctx, []uuid.UUID{id})
		if err == nil {
			return len(found) == 1
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
}

// commitDoubt is how long a client waits to learn whether its booking was stored.
const commitDoubt = 3 * time.Second

// notWritten gives the place back, unless the row may have been written all
// the same: then the place stays taken until that is undone.
func (s *Service) notWritten(ctx context.Context, o order, cause error) error {
	if database.NotCommitted(cause) {
		s.starter.add(s.door.giveBack(o.ID)...)
	} else {
		s.log.WarnContext(ctx, "nobody knows whether a booking was stored; it will be undone", "booking", o.ID, "error", cause)
		s.door.doubt(o.ID)
	}
	s.door.refused(http.StatusServiceUnavailable)
	s.metrics.answer(ctx, http.StatusServiceUnavailable)
	return storeDown(cause)
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
	for _, f := range s.readiness.Failing(c.Request().Context()) {
		stats.NotReady = append(stats.NotReady, f.Name)
		if f.Name == "broker" {
			stats.Broker = f.Err.Error()
		}
	}
	stats.Stalled = int(s.counts.stalled.Load())
	return c.JSON(http.StatusOK, stats)
}
