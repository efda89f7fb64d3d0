// Package database is what the stores of the services share: one way to open
// PostgreSQL or SQLite, to migrate them, to write batches and to tell whose
// fault an error is. It is the only package that knows SQL drivers.
//
// It guarantees that a commit which returned nil survives the death of the
// process, and of the machine, on both databases (a temporary SQLite file,
// which never outlives its process, excepted), and that no error contains the
// password of the URL.
//
// Migrations and most statements are written once, in the SQL that both
// databases understand: UUID, TEXT, BOOLEAN and BIGINT columns, $1
// placeholders, ON CONFLICT and RETURNING. Timestamps are BIGINT microseconds
// since the epoch, amounts BIGINT minor units. [Table] bridges the one gap
// that batches meet.
package database

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Dialect is the kind of SQL that a database speaks.
type Dialect string

// The supported databases.
const (
	PostgreSQL Dialect = "postgresql"
	SQLite     Dialect = "sqlite"
)

// DB is a pool of connections to one service's database. On SQLite the pool
// is one connection (see openSQLite): never query while another query's rows
// or transaction are open in the same goroutine.
type DB struct {
	*sql.DB
	Dialect Dialect

	health   health
	writes   atomic.Pointer[[]string] // the service's tables, once they are there
	distrust func()                   // ends the open connections at their next use; of PostgreSQL only
	close    func() error
}

// Open prepares a pool for a database URL:
//
//	postgres://user:password@host/name, postgresql://…
//	sqlite:/path/file.db, sqlite:relative.db
//	sqlite:                  a temporary file, removed by Close
//
// It connects to nothing: the server may come up later.
func Open(url string) (*DB, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(rest)
	case "postgres", "postgresql":
		return openPostgres(url)
	}
	return nil, errors.New("unknown kind of database: use a postgres://, postgresql:// or sqlite: URL")
}

// newDB makes a DB whose Close may be called more than once.
func newDB(pool *sql.DB, d Dialect, cleanup func() error) *DB {
	db := &DB{DB: pool, Dialect: d}
	db.health.start = time.Now()
	db.close = sync.OnceValue(func() error {
		db.health.close()
		err := pool.Close()
		if err != nil {
			err = fmt.Errorf("close the database: %w", err)
		}
		return errors.Join(err, cleanup())
	})
	return db
}

// Close closes the connections, and removes a temporary database. It may be
// called more than once.
func (db *DB) Close() error { return db.close() }
