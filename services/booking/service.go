// Package booking takes bookings at the door and learns by events what became
// of them. It guarantees:
//
//   - A booking that was answered 202 is a committed row, and its first event
//     is published from that row until the broker has it, over restarts too.
//   - A booking has one outcome. The same one again changes nothing, and a
//     contradicting one is only counted.
//   - Active, waiting and overdue bookings never exceed their limits.
//   - An unfinished booking past its deadline is published again, so that the
//     saga converges whatever message was lost.
package booking

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/incident"
	"boxoffice/internal/participant"
	"boxoffice/internal/retry"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/services/booking/internal/door"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
	"boxoffice/tickets"
)

// Limits are the budgets of the door.
type Limits = door.Limits

// Status is where a booking stands.
type Status = row.Status

// The states of a booking: Pending until one of the others is its outcome.
const (
	Pending   = row.Pending
	Confirmed = row.Confirmed
	Rejected  = row.Rejected
	Cancelled = row.Cancelled
)

// Config is how the service behaves.
type Config struct {
	participant.Settings
	Limits       Limits
	SagaDeadline time.Duration // from the start of a saga to its first redrive
	RedriveLimit int           // how often a booking is redriven before it counts as stalled
	StallAfter   time.Duration // a full door at which nothing has finished for so long is stopped, not busy
}

// Service is the booking service.
type Service struct {
	*participant.Participant
	cfg     Config
	broker  messaging.Broker
	tel     *telemetry.Telemetry
	log     *slog.Logger
	store   *store.Store
	door    *door.Door
	starter *starter
	waiters *waiters
	keys    *inProgress
	counts  outcomes
	metrics *metrics
	handler http.Handler

	incidents *incident.Log
	readiness *httpserver.Readiness

	hurried context.Context //nolint:containedctx // it ends when requests are to be answered, known outcome or not
	hurry   context.CancelFunc

	missed  missed
	absence absence
}

// New makes the service. It does nothing until Run; its Handler answers from
// the start, and says 503 where it cannot work yet.
func New(cfg Config, deps participant.Deps) *Service {
	s := &Service{
		Participant: participant.New(tickets.Booking, cfg.Settings, deps),
		cfg:         cfg,
		broker:      deps.Broker,
		tel:         deps.Telemetry,
		log:         deps.Telemetry.Logger,
		store:       store.New(deps.DB, cfg.Instance, cfg.SagaDeadline, steady(time.Now())),
		starter:     newStarter(max(64, cfg.Limits.Active+cfg.Limits.Overdue)),
		waiters:     newWaiters(),
		keys:        newInProgress(),
		incidents:   deps.Telemetry.Incidents,
	}
	s.door = door.New(cfg.Limits, s.starter.add)
	s.hurried, s.hurry = context.WithCancel(context.Background()) //nolint:gosec // Drain calls it
	s.metrics = s.newMetrics()
	e, readiness := s.HTTP(httpserver.Check{Name: "door", Check: s.opened})
	s.readiness = readiness
	e.POST("/bookings", s.postBooking)
	e.GET("/bookings", s.listBookings)
	e.GET("/bookings/:id", s.getBooking)
	e.GET("/stats", s.getStats)
	if cfg.Lab {
		e.POST("/lab/drain", s.postDrain)
		e.POST("/lab/resume", s.postResume)
		e.POST("/lab/reset", s.postReset)
	}
	s.handler = e
	return s
}

// steady is a clock that was right when it began, and that nobody sets since.
func steady(began time.Time) func() time.Time {
	return func() time.Time { return began.Add(time.Since(began)) }
}

// opened is whether the door was opened: not before the bookings of an earlier
// run have their places.
func (s *Service) opened(context.Context) error {
	if !s.door.Restored() {
		return errors.New("still taking up the bookings of an earlier run")
	}
	return nil
}

// Handler serves the HTTP of the service.
func (s *Service) Handler() http.Handler { return s.handler }

// drainAnswer is how long a commit may take once the service is to stop. It is
// shorter than what its HTTP server gives to requests that run.
const drainAnswer = 3 * time.Second

// Drain closes the door: POST /bookings answers 503 from now on, clients that
// wait for an outcome are answered, those whose commit has no answer are told so
// soon, and the sagas go on. Call it before the
// HTTP server is shut down.
func (s *Service) Drain() {
	s.door.Drain(true)
	s.waiters.release()
	time.AfterFunc(drainAnswer, s.hurry)
}

// Run works until ctx ends, and returns when nothing of it runs any more:
//
//	POST /bookings → door → bookings row → starter ⇒ BookingCreated
//	⇒ PaymentSucceeded, PaymentFailed, SeatRejected, SeatReleased → row → door
func (s *Service) Run(ctx context.Context) error {
	defer s.store.Close()
	migrations, err := store.Migrations()
	if err != nil {
		return err
	}
	if err := s.Migrate(ctx, migrations); err != nil {
		return participant.Stopped(ctx, err)
	}
	if err := retry.Forever(ctx, s.log, "reading the unfinished bookings", s.recover); err != nil {
		return participant.Stopped(ctx, err)
	}
	var background sync.WaitGroup
	defer background.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // Consume may fail by itself
	background.Go(func() { s.starter.run(ctx, s.begin) })
	s.look(ctx, &background)
	// Bookings are taken before the broker is there: their events are published from the rows later.
	if err := s.Declare(ctx); err != nil {
		return participant.Stopped(ctx, err)
	}
	return s.Consume(ctx,
		messaging.On(s.paymentSucceeded),
		messaging.On(s.paymentFailed),
		messaging.On(s.seatRejected),
		messaging.On(s.seatReleased),
	)
}
