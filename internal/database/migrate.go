package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// ErrNewerSchema is the error, wrapped, of a database that was migrated by a
// newer version of the code. Waiting does not mend it.
var ErrNewerSchema = errors.New("the database's schema is newer than this program")

// Migrate makes the database the owner's, unless it is another's already
// (ErrForeign), and brings its schema up to the newest of the owner's SQL files
// (00001_name.sql, …, in goose's format), each in a transaction of its own.
// On PostgreSQL replicas may start at once: one migrates, the others wait.
func (db *DB) Migrate(ctx context.Context, s Schema) error {
	dialect := goose.DialectSQLite3
	if db.Dialect == PostgreSQL {
		dialect = goose.DialectPostgres
	}
	if err := db.claim(ctx, s, dialect); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	opts := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
		goose.WithTableName(versionTable(s.Owner)),
	}
	if db.Dialect == PostgreSQL {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60), lock.WithUnlockTimeout(1, 5))
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, db.DB, s.Files, opts...)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// After Up, because asking before it would race another replica's first Up.
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if has > knows {
		return fmt.Errorf("migrate: %w: version %d, this program knows %d", ErrNewerSchema, has, knows)
	}
	return nil
}
