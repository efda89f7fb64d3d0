package booking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/database"
	"boxoffice/services/booking/internal/door"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

// book returns the booking that was made with the request's key before, or a
// new one. It calls watch with the booking's id before an outcome can be in.
// Whatever the database does, it returns within answerWithin, and soon after the
// service is told to stop.
//
// Its error says that nothing was booked, nor will be, unless it is an unknown
// outcome: see unknownOutcome.
func (s *Service) book(ctx context.Context, ask request, watch func(uuid.UUID)) (b row.Booking, replayed bool, err error) {
	ctx, cancel := s.until(ctx, time.Now().Add(answerWithin))
	defer cancel()
	if ask.key != "" {
		leave, err := s.keys.enter(ctx, ask.key)
		if err != nil {
			return b, false, s.unknownOutcome(ctx, ask.key, fmt.Errorf("wait for an earlier request with the same Idempotency-Key: %w", err))
		}
		defer leave()
		if b, ok, err := s.replay(ctx, ask, watch); ok || err != nil {
			return b, ok, err
		}
	}
	if b, ok, err := s.admit(ctx, ask, watch); ok || err != nil {
		return b, false, err
	}
	b, ok, err := s.replay(ctx, ask, watch) // another replica was faster with the same key
	if err == nil && !ok {
		err = s.storeDown(ctx, errors.New("the row with the same Idempotency-Key is gone"))
	}
	return b, ok, err
}

// until returns a context that ends at the deadline, or when the service is to
// stop soon.
func (s *Service) until(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	stop := context.AfterFunc(s.hurried, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// admit makes a new booking: it reserves a place in the door and commits the
// row, from which the saga starts. It reports whether it did: false if the key
// belongs to another booking.
func (s *Service) admit(ctx context.Context, ask request, watch func(uuid.UUID)) (b row.Booking, ok bool, err error) {
	o := row.Order{Booking: ask.wish, Key: ask.key, Carrier: make(row.Carrier)}
	o.TraceID = trace.SpanContextFromContext(ctx).TraceID().String()
	s.tel.Propagator.Inject(ctx, propagation.MapCarrier(o.Carrier))
	if ctx.Err() != nil {
		return b, false, s.storeDown(ctx, ctx.Err()) // the client has gone: nothing is taken
	}
	o, no := s.door.Reserve(o)
	if no != door.Admitted {
		return b, false, s.refuse(ctx, no)
	}
	watch(o.ID)
	written, err := s.write(ctx, o)
	switch {
	case database.NotCommitted(err):
		s.door.GiveBack(o.ID)
		return b, false, s.storeDown(ctx, err)
	case err != nil:
		s.door.Doubt(o.ID) // its place stays taken until that is known
		s.missed.note()
		return b, false, s.unknownOutcome(ctx, ask.key, fmt.Errorf("commit the booking: %w", err))
	case !written:
		s.door.GiveBack(o.ID)
		return b, false, nil
	}
	s.door.Commit(o.ID) // which starts it, now or when a place is free
	return o.Booking, true, nil
}

// write commits the row of an order, and reports whether it is there: false if
// its key belongs to another booking. The commit does not depend on the client's
// connection, only on ctx's deadline and the service's. If nobody saw it end, write looks for the
// row; an error that is not database.NotCommitted leaves it unknown.
func (s *Service) write(ctx context.Context, o row.Order) (bool, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := s.until(context.WithoutCancel(ctx), deadline)
	defer cancel()
	written, err := s.store.Insert(ctx, o)
	if err == nil || database.NotCommitted(err) {
		return written, err
	}
	if s.appears(ctx, o.ID) {
		return true, nil
	}
	return false, err
}

// appears reports whether the store says in time that a row is there. That it
// is not there says little: its insert may still be running.
func (s *Service) appears(ctx context.Context, id uuid.UUID) bool {
	ctx, cancel := context.WithTimeout(ctx, store.RowLookup)
	defer cancel()
	again := time.NewTicker(store.RowLookup / 10)
	defer again.Stop()
	for {
		found, err := s.store.IsWritten(ctx, id)
		if err == nil {
			return found
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
}

// storeDown answers 503 where the database made sure that nothing was booked.
func (s *Service) storeDown(ctx context.Context, cause error) error {
	s.door.Unavailable()
	s.metrics.answer(ctx, http.StatusServiceUnavailable)
	return storeDown(cause)
}
