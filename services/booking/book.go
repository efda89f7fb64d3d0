package booking

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/database"
)

// book returns the booking that was made with the key before, or a new one: it
// reserves a place in the door and commits the row, from which the saga starts.
// It calls watch with the booking's id before an outcome can be in. Whatever the
// database does, it returns within answerWithin.
//
// Its error says that nothing was booked, nor will be, unless it is an unknown
// outcome: see unknownOutcome.
func (s *Service) book(ctx context.Context, wish Booking, key string, watch func(uuid.UUID)) (b Booking, replayed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if key != "" {
		leave, err := s.keys.enter(ctx, key)
		if err != nil { // the request before it with this key has no answer yet
			return b, false, s.unknownOutcome(ctx, key, err)
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
		return b, false, s.storeDown(ctx, ctx.Err()) // the client has gone: nothing is taken
	}
	o, no := s.door.reserve(o)
	if no != admitted {
		return b, false, s.refuse(ctx, no)
	}
	watch(o.ID)
	written, err := s.write(ctx, o)
	switch {
	case database.NotCommitted(err):
		s.starter.add(s.door.giveBack(o.ID)...)
		return b, false, s.storeDown(ctx, err)
	case err != nil:
		s.door.doubt(o.ID) // its place stays taken until that is known
		s.missed.note()
		return b, false, s.unknownOutcome(ctx, key, err)
	case !written: // another replica was faster with the same key
		s.starter.add(s.door.giveBack(o.ID)...)
		b, ok, err := s.replay(ctx, key, wish, watch)
		if err == nil && !ok {
			err = s.storeDown(ctx, errors.New("the row with the same Idempotency-Key is gone"))
		}
		return b, ok, err
	}
	s.starter.add(s.door.commit(o.ID)...)
	return o.Booking, false, nil
}

// write commits the row of an order, and reports whether it is there: false if
// its key belongs to another booking. The commit does not depend on the client's
// connection, only on ctx's deadline. If nobody saw it end, write looks for the
// row; an error that is not database.NotCommitted leaves it unknown.
func (s *Service) write(ctx context.Context, o order) (bool, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	written, err := s.store.insert(ctx, o)
	if err == nil || database.NotCommitted(err) {
		return written, err
	}
	if s.appears(ctx, o.ID) {
		return true, nil
	}
	return false, err
}

// commitDoubt is how long the row of a commit that nobody saw end is looked for.
const commitDoubt = 3 * time.Second

// appears reports whether the store says in time that a row is there. That it
// is not there says little: its insert may still be running.
func (s *Service) appears(ctx context.Context, id uuid.UUID) bool {
	ctx, cancel := context.WithTimeout(ctx, commitDoubt)
	defer cancel()
	again := time.NewTicker(commitDoubt / 10)
	defer again.Stop()
	for {
		found, err := s.store.isWritten(ctx, id)
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
	s.door.refused(http.StatusServiceUnavailable)
	s.metrics.answer(ctx, http.StatusServiceUnavailable)
	return storeDown(cause)
}
