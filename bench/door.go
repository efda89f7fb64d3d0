package main

import (
	"context"
	"errors"
	"log/slog"

	"boxoffice/internal/participant"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/services/booking"
	"boxoffice/tickets"
)

const (
	nameDoor           = "door: 202, commits in groups"
	nameOneTransaction = "door: 202, one transaction each"
	nameOneStatement   = "door: 202, one statement each"
)

// endless is a budget that no measurement uses up.
const endless = 100_000_000

// doors measures the door by itself: it publishes into the memory of this
// process, where nobody consumes, so that no saga takes part. Beside it, the
// same endpoint without group commit.
func (b *bench) doors(ctx context.Context) error {
	for _, d := range []struct {
		name   string
		commit commit // nil: the service's own
	}{
		{nameDoor, nil},
		{nameOneTransaction, inTransaction},
		{nameOneStatement, byItself},
	} {
		if err := b.door(ctx, d.name, d.commit); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) door(ctx context.Context, name string, commit commit) (err error) {
	database, err := b.servers.postgres.CreateDatabase(ctx, tickets.Booking)
	if err != nil {
		return err
	}
	p := &platform{}
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	err = p.start(ctx, plan{tickets.Booking, database, toNobody, buildDoor(commit)}) //nolint:contextcheck // services have contexts of their own
	if err == nil {
		err = p.ready(ctx)
	}
	if err != nil {
		return err
	}
	clients, err := dialAll(ctx, p.addresses[tickets.Booking], doorClients, "")
	if err != nil {
		return err
	}
	defer clients.close()
	return b.measure(ctx, name, doorClients, func(ctx context.Context, client int) error {
		return clients[client].book(ctx, 1, booking.Pending)
	})
}

// toNobody connects to a broker without consumers, in memory.
func toNobody(*slog.Logger) (messaging.Broker, error) {
	return inproc.New(inproc.Options{MaxBytes: 8 << 30}).Connect(tickets.Booking), nil
}

func buildDoor(commit commit) builder {
	return func(s participant.Settings, d participant.Deps) service {
		made := booking.New(bookingConfig(s, endless), d)
		if commit != nil {
			return newUngrouped(made, d, commit)
		}
		return made
	}
}
