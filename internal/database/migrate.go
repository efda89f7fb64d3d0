package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

// ErrNewerSchema is the error, wrapped, of a database that was migrated by a
// newer version of the code. Waiting does not mend it.
var ErrNewerSchema = errors.New("the database's schema is newer than this program")

// Migrate makes the database the owner's, unless it is another's already
// (ErrForeign), and brings its schema up to the newest of the owner's SQL files
// (00001_name.sql, …, in goose's format), each in a transaction of its own.
// On PostgreSQL replicas may start at once: one migrates, the others wait.
func (db *DB) Migrate(ctx context.Context, s Schema) error {
	if err := db.alone(ctx, func() error { return db.migrate(ctx, s) }); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	db.writes.Store(&s.Writes)
	return nil
}

func (db *DB) migrate(ctx context.Context, s Schema) error {
	dialect := goose.DialectSQLite3
	if db.Dialect == PostgreSQL {
		dialect = goose.DialectPostgres
	}
	if err := db.claim(ctx, s, dialect); err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db.DB, s.Files,
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
		goose.WithTableName(versionTable(s.Owner)))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if has > knows {
		return fmt.Errorf("%w: version %d, this program knows %d", ErrNewerSchema, has, knows)
	}
	return nil
}
