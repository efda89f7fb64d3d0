package main

import (
	"context"
	"errors"

	"boxoffice/internal/config"
	"boxoffice/tickets"
)

// paymentsCmd runs the payments service.
type paymentsCmd struct {
	config.Log
	config.Connections
	config.Service
	config.Payments
}

// Help shows examples.
func (*paymentsCmd) Help() string {
	return `Examples:

  BROKER_URL=amqp://guest:guest@localhost:5672/ DATABASE_URL=postgres://payments:secret@localhost/payments boxoffice payments
  boxoffice payments --broker-url amqp://localhost/ --database-url sqlite:payments.db --card-limit 250.50 --bank-delay 2s`
}

// Check says what does not fit together.
func (p *paymentsCmd) Check() error { return errors.Join(p.Connections.Check(), p.CheckUnsafe(false)) }

// Run runs the service until ctx ends.
func (p *paymentsCmd) Run(ctx context.Context, c console) error {
	at := place{address: string(p.PaymentsAddr), variable: "PAYMENTS_ADDR", database: p.DatabaseURL}
	return runAlone(ctx, c, tickets.Payments, p.Log, p.Service, p.BrokerURL, at, paymentsBuilder(p.Payments))
}
