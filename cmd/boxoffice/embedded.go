package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"boxoffice/internal/client"
	"boxoffice/internal/config"
	"boxoffice/tickets"
)

// scene is the settings of all three services.
type scene struct {
	config.Log
	config.Service
	config.Booking
	config.Seats
	config.Payments
}

// open makes the three services of one process, booking first.
func (s scene) open(ctx context.Context, p process, data string) (hosts, error) {
	p.log, p.settings, p.shared = s.Log, s.Service, true
	var hs hosts
	for _, part := range []struct {
		name, variable string
		address        config.Address
		build          builder
	}{
		{tickets.Booking, "BOOKING_ADDR", s.BookingAddr, bookingBuilder(s.Booking)},
		{tickets.Seats, "SEATS_ADDR", s.SeatsAddr, seatsBuilder(s.Seats)},
		{tickets.Payments, "PAYMENTS_ADDR", s.PaymentsAddr, paymentsBuilder(s.Payments)},
	} {
		at := place{address: part.address.Local(), variable: part.variable, database: "sqlite:"}
		if data != "" {
			at.database += config.DatabaseURL(filepath.Join(data, part.name+".db"))
		}
		h, err := p.open(ctx, part.name, at, part.build)
		if err != nil {
			return nil, errors.Join(err, hs.discard(ctx))
		}
		hs = append(hs, h)
	}
	return hs, nil
}

// discard closes services that will not be run.
func (hs hosts) discard(ctx context.Context) error {
	var errs []error
	for _, h := range hs {
		errs = append(errs, h.listener.Close(), h.close(ctx))
	}
	return errors.Join(errs...)
}

// ready waits until the services work and bookings are taken.
func (hs hosts) ready(ctx context.Context) error {
	for _, h := range hs {
		if err := h.ready(ctx); err != nil {
			return fmt.Errorf("%s is not ready: %w", h.name, err)
		}
	}
	return nil
}

func (h *host) ready(ctx context.Context) error {
	c, err := client.New(h.url())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil || h.name != tickets.Booking {
		return err
	}
	return c.Accepting(ctx)
}
