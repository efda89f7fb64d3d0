package main

import (
	"context"
	"errors"

	"boxoffice/internal/config"
	"boxoffice/tickets"
)

// bookingCmd runs the booking service.
type bookingCmd struct {
	config.Log
	config.Connections
	config.Service
	config.Booking
}

// Help shows examples.
func (*bookingCmd) Help() string {
	return `Examples:

  BROKER_URL=amqp://guest:guest@localhost:5672/ DATABASE_URL=postgres://booking:secret@localhost/booking boxoffice booking
  boxoffice booking --broker-url amqp://localhost/ --database-url sqlite:booking.db --admission-active 16`
}

// Check says what does not fit together.
func (b *bookingCmd) Check() error {
	if err := b.Connections.Check(); err != nil {
		return err
	}
	return errors.Join(b.CheckDeadline(b.Service), b.CheckUnsafe(false))
}

// Run runs the service until ctx ends.
func (b *bookingCmd) Run(ctx context.Context, c console) error {
	at := place{address: string(b.BookingAddr), variable: "BOOKING_ADDR", database: b.DatabaseURL}
	return runAlone(ctx, c, tickets.Booking, b.Log, b.Service, b.BrokerURL, at, bookingBuilder(b.Booking))
}

// runAlone runs one service in a process of its own.
func runAlone(
	ctx context.Context, c console, name string, log config.Log, settings config.Service, broker config.BrokerURL, at place, b builder,
) error {
	h, err := process{log: log, settings: settings, broker: brokerAt(broker), logs: c.err}.open(ctx, name, at, b)
	if err != nil {
		return err
	}
	return h.run(ctx)
}
