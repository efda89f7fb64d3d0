package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"boxoffice/internal/participant"
	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/services/booking"
	"boxoffice/services/payments"
	"boxoffice/services/seats"
	"boxoffice/tickets"
)

const nameSaga = "saga: POST to Confirmed"

// saga measures whole bookings.
func (b *bench) saga(ctx context.Context, inFlight int, profile bool) (err error) {
	p := &platform{}
	broker, err := b.vhost(ctx)
	if err != nil {
		return err
	}
	err = b.services(ctx, p, broker, inFlight)
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	if err != nil {
		return err
	}
	clients, err := dialAll(ctx, p.addresses[tickets.Booking], inFlight, "Prefer: wait=30")
	if err != nil {
		return err
	}
	defer clients.close()
	var seat atomic.Int64
	return b.profiled(profile, func() error {
		return b.measure(ctx, nameSaga, inFlight, func(ctx context.Context, client int) error {
			n := seat.Add(1)
			if n > tickets.MaxSeat {
				return fmt.Errorf("all %d seats are sold: use a shorter -duration", tickets.MaxSeat)
			}
			return clients[client].book(ctx, n, booking.Confirmed)
		})
	})
}

// services starts the three, with the settings that boxoffice has by default
// but for a bank that takes no time, a hall that is never full, and a door that
// lets in all who are measured.
func (b *bench) services(ctx context.Context, p *platform, broker string, inFlight int) error {
	builders := map[string]builder{
		tickets.Seats:    buildSeats,
		tickets.Payments: buildPayments(inFlight), //nolint:contextcheck // services have contexts of their own
		tickets.Booking:  buildBooking(inFlight),  //nolint:contextcheck // the same
	}
	for name, build := range builders {
		database, err := b.servers.postgres.CreateDatabase(ctx, name)
		if err != nil {
			return err
		}
		connect := onRabbitMQ(broker, name) //nolint:contextcheck // the connection outlives the start
		if err := p.start(ctx, plan{name, database, connect, build}); err != nil {
			return err
		}
	}
	return p.ready(ctx)
}

func onRabbitMQ(url, service string) connector {
	return func(log *slog.Logger) (messaging.Broker, error) {
		return rabbitmq.Open(url, rabbitmq.Options{Name: "bench " + service, Logger: log})
	}
}

func buildSeats(s participant.Settings, d participant.Deps) service {
	return seats.New(seats.Config{Settings: s, Total: tickets.MaxSeat}, d)
}

func buildPayments(concurrency int) builder {
	return func(s participant.Settings, d participant.Deps) service {
		bank := payments.Bank{Limit: tickets.AmountFromMinor(1000_00), Concurrency: concurrency}
		return payments.New(payments.Config{Settings: s, Bank: bank}, d)
	}
}

func buildBooking(active int) builder {
	return func(s participant.Settings, d participant.Deps) service {
		return booking.New(bookingConfig(s, active), d)
	}
}

// bookingConfig lets in so many sagas at a time, and as many more may wait.
func bookingConfig(s participant.Settings, active int) booking.Config {
	return booking.Config{
		Settings: s, Limits: booking.Limits{Active: active, Waiting: active, Overdue: active},
		SagaDeadline: time.Minute, RedriveLimit: 5, StallAfter: 10 * time.Second,
	}
}
