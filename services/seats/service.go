// Package seats holds the hall's seats for bookings. It guarantees:
//
//   - A seat is held by at most one booking, over any number of replicas.
//   - A booking has one reservation, and every event about it is answered with
//     the same outcome again, however often and in whatever order events come.
//   - A seat that was released is never reserved again by the same booking.
//   - Only the booking that holds a seat can cause its release.
//   - It does not work in a hall that is smaller than a seat which is held.
package seats

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"

	"boxoffice/internal/participant"
	"boxoffice/internal/retry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Config is how the service behaves.
type Config struct {
	participant.Settings
	Total int // the hall's seats are numbered 1 to Total
}

// Service is the seats service.
type Service struct {
	*participant.Participant
	log     *slog.Logger
	store   *store
	release releaser // the store's, unless a safety is off
	handler http.Handler
}

// New makes the service. It does nothing until Run; its Handler answers from
// the start, and says 503 where it cannot work yet.
func New(cfg Config, deps participant.Deps) *Service {
	s := &Service{
		Participant: participant.New(tickets.Seats, cfg.Settings, deps),
		log:         deps.Telemetry.Logger,
		store:       newStore(deps.DB, cfg.Total),
	}
	s.release = s.store.unsafely(cfg.Unsafe)
	e, _ := s.HTTP()
	e.GET("/seats", s.getSeats)
	e.GET("/reservations", s.listReservations)
	e.GET("/reservations/:bookingId", s.getReservation)
	if cfg.Lab {
		e.POST("/lab/reset", s.postReset)
	}
	s.handler = e
	return s
}

// Handler serves the HTTP of the service.
func (s *Service) Handler() http.Handler { return s.handler }

// Run works until ctx ends, and returns when nothing of it runs any more:
//
//	⇒ BookingCreated → reserve → row ⇒ SeatReserved, SeatRejected
//	⇒ PaymentFailed  → release → row ⇒ SeatReleased
func (s *Service) Run(ctx context.Context) error {
	defer s.store.close()
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if err := s.Migrate(ctx, migrations); err != nil {
		return participant.Stopped(ctx, err)
	}
	if err := retry.Forever(ctx, s.log, "looking at the hall", s.fitsTheHall); err != nil {
		return participant.Stopped(ctx, err)
	}
	if err := s.Declare(ctx); err != nil {
		return participant.Stopped(ctx, err)
	}
	return s.Consume(ctx,
		messaging.On(s.bookingCreated),
		messaging.On(s.paymentFailed),
	)
}

// fitsTheHall is a final error if a seat is held that the hall does not have:
// it would be neither free nor among the hall's held ones.
func (s *Service) fitsTheHall(ctx context.Context) error {
	highest, err := s.store.highestHeld(ctx)
	if err != nil {
		return err
	}
	if highest.Seat > s.store.total {
		return retry.Final(fmt.Errorf("SEATS_TOTAL is %d, but booking %s holds seat %d: set SEATS_TOTAL to %d or more",
			s.store.total, highest.BookingID, highest.Seat, highest.Seat))
	}
	return nil
}
