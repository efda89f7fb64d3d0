// Package payments charges for seats. It guarantees:
//
//   - A booking is charged at most once, over any number of replicas, crashes
//     and lost answers of the bank.
//   - A booking has one payment, and every event about it is answered with the
//     same outcome again, whatever the card limit is by then.
//   - A bank that does not answer holds its deliveries; it fails no payment.
package payments

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"

	"boxoffice/internal/participant"
	"boxoffice/internal/retry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Config is how the service behaves.
type Config struct {
	participant.Settings
	Bank Bank
}

// Service is the payments service.
type Service struct {
	*participant.Participant
	log     *slog.Logger
	store   *store
	bank    *bank
	lab     bool
	handler http.Handler
}

// New makes the service. It does nothing until Run; its Handler answers from
// the start, and says 503 where it cannot work yet.
func New(cfg Config, deps participant.Deps) *Service {
	s := &Service{
		Participant: participant.New(tickets.Payments, cfg.Settings, deps),
		log:         deps.Telemetry.Logger,
		store:       newStore(deps.DB),
		bank:        newBank(cfg, deps.DB, deps.Telemetry.Logger),
		lab:         cfg.Lab,
	}
	e, _ := s.HTTP()
	e.GET("/payments", s.listPayments)
	e.GET("/payments/:bookingId", s.getPayment)
	e.GET("/charges", s.listCharges)
	if cfg.Lab {
		e.POST("/lab/gate/close", s.postGate(true))
		e.POST("/lab/gate/open", s.postGate(false))
		e.POST("/lab/bank", s.postBank)
		e.POST("/lab/reset", s.postReset)
	}
	s.handler = e
	return s
}

// Handler serves the HTTP of the service.
func (s *Service) Handler() http.Handler { return s.handler }

// Run works until ctx ends, and returns when nothing of it runs any more:
//
//	⇒ SeatReserved → bank → row ⇒ PaymentSucceeded, PaymentFailed
func (s *Service) Run(ctx context.Context) error {
	defer s.close()
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if err := s.Migrate(ctx, migrations); err != nil {
		return participant.Stopped(ctx, err)
	}
	if err := s.Declare(ctx); err != nil {
		return participant.Stopped(ctx, err)
	}
	if s.lab {
		// No charge gets past a gate that was closed before the start.
		if err := retry.Forever(ctx, s.log, "reading what the lab does to the bank", s.bank.lab.look); err != nil {
			return participant.Stopped(ctx, err)
		}
		watching, stop := context.WithCancel(ctx)
		var background sync.WaitGroup
		defer background.Wait()
		defer stop()
		background.Go(func() { s.bank.lab.watch(watching) })
	}
	return s.Consume(ctx, messaging.On(s.seatReserved))
}

func (s *Service) close() {
	s.bank.close()
	s.store.close()
}
