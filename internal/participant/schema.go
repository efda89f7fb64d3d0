package participant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"boxoffice/internal/database"
	"boxoffice/internal/retry"
	"boxoffice/tickets"
)

// Schema is what a service keeps in its database.
func Schema(service string, migrations fs.FS) database.Schema {
	all := []string{tickets.Booking, tickets.Seats, tickets.Payments}
	others := slices.DeleteFunc(all, func(s string) bool { return s == service })
	return database.Schema{Owner: service, Files: migrations, Others: others, Writes: map[string][]string{
		tickets.Booking: {"bookings"}, tickets.Seats: {"reservations"}, tickets.Payments: {"bank_ledger", "payments"},
	}[service]}
}

// Migrate migrates the database. It waits for one that is not there yet, until
// ctx ends. Its error is nil, the context's, or final.
func (p *Participant) Migrate(ctx context.Context, migrations fs.FS) error {
	if p.wrong != nil {
		return p.wrong
	}
	schema := Schema(p.service, migrations)
	err := retry.Forever(ctx, p.deps.Telemetry.Logger, "preparing the database", func(ctx context.Context) error {
		err := p.deps.DB.Migrate(ctx, schema)
		if errors.Is(err, database.ErrNewerSchema) || errors.Is(err, database.ErrForeign) {
			return retry.Final(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return nil
}
