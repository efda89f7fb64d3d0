package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"
)

// ErrForeign is the error, wrapped, of a database that belongs to another
// service. Waiting does not mend it.
var ErrForeign = errors.New("the database belongs to another service")

// Schema is what one service keeps in its database.
type Schema struct {
	Owner string // the service
	Files fs.FS  // its migrations
	// Others are the services whose databases it must not be.
	Others []string
	// Writes are the tables that the service cannot do without: see [DB.Working].
	Writes []string
}

// versionTable is where the owner's migrations are noted. Whoever owns the
// database has it from the first moment.
func versionTable(owner string) string { return owner + "_schema" }

// claim makes sure, in one transaction, that the database is the owner's and
// nobody else's: of two services that get an empty one at once, one has it.
// Only one runs at a time (see alone).
func (db *DB) claim(ctx context.Context, s Schema, d goose.Dialect) error {
	tx, err := db.BeginTx(ctx, nil) // on SQLite it excludes every other one
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	there := func(table string) (bool, error) {
		query := `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)`
		if db.Dialect == PostgreSQL {
			query = `SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1)`
		}
		var is bool
		err := tx.QueryRowContext(ctx, query, table).Scan(&is)
		return is, err
	}
	if err := s.refuseOthers(there); err != nil {
		return err
	}
	versions := versionTable(s.Owner)
	mine, err := there(versions)
	if err != nil || mine {
		return err
	}
	store, err := goosedb.NewStore(d, versions)
	if err != nil {
		return err
	}
	if err := store.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	if err := store.Insert(ctx, tx, goosedb.InsertRequest{Version: 0}); err != nil { // as goose begins
		return err
	}
	return tx.Commit()
}

// refuseOthers returns ErrForeign, wrapped, if the database is another service's.
func (s Schema) refuseOthers(there func(table string) (bool, error)) error {
	for _, other := range s.Others {
		table := versionTable(other)
		is, err := there(table)
		if err != nil {
			return err
		}
		if is {
			return fmt.Errorf("%w: DATABASE_URL of %s leads to the database of %s (it has the table %s); each service needs its own",
				ErrForeign, s.Owner, other, table)
		}
	}
	return nil
}
