package main

import (
	"context"
	"errors"

	"boxoffice/internal/config"
	"boxoffice/tickets"
)

// seatsCmd runs the seats service.
type seatsCmd struct {
	config.Log
	config.Connections
	config.Service
	config.Seats
}

// Help shows examples.
func (*seatsCmd) Help() string {
	return `Examples:

  BROKER_URL=amqp://guest:guest@localhost:5672/ DATABASE_URL=postgres://seats:secret@localhost/seats boxoffice seats
  boxoffice seats --broker-url amqp://localhost/ --database-url sqlite:seats.db --seats-total 500`
}

// Check says what does not fit together.
func (s *seatsCmd) Check() error { return errors.Join(s.Connections.Check(), s.CheckUnsafe(false)) }

// Run runs the service until ctx ends.
func (s *seatsCmd) Run(ctx context.Context, c console) error {
	at := place{address: string(s.SeatsAddr), variable: "SEATS_ADDR", database: s.DatabaseURL}
	return runAlone(ctx, c, tickets.Seats, s.Log, s.Service, s.BrokerURL, at, seatsBuilder(s.Seats))
}
