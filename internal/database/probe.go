package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// probe commits a write.
func (db *DB) probe(ctx context.Context) error {
	if db.Dialect == PostgreSQL {
		return db.probePostgres(ctx)
	}
	return db.probeSQLite(ctx)
}

// probePostgres commits a message in the log that nothing reads. Like a row's,
// its commit is flushed, and waits for the standbys that are to have it; but it
// leaves nothing to be cleaned up. It inserts nothing into each of the service's
// tables, for which it needs the same locks and rights as a row. When ctx ends,
// the driver has the server cancel the wait, so that no session is left there.
func (db *DB) probePostgres(ctx context.Context) error {
	var said string
	err := db.QueryRowContext(ctx, db.touching()+`SELECT CASE
		WHEN current_setting('transaction_read_only')::boolean THEN 'read-only'
		ELSE left(pg_logical_emit_message(true, 'boxoffice', '')::text, 0) END`).Scan(&said)
	if err == nil && said != "" {
		db.distrust() // another server may be the one to write to by now
		err = errors.New("the database is read-only")
	}
	return err
}

// touching returns the common table expressions that insert no row into each of
// the service's tables.
func (db *DB) touching() string {
	var all []string
	for i, table := range db.tables() {
		all = append(all, fmt.Sprintf("touched_%d AS (%s)", i, insertNothing(table)))
	}
	if len(all) == 0 {
		return ""
	}
	return "WITH " + strings.Join(all, ", ") + " "
}

// tables returns the tables that the service writes to, once they are there.
func (db *DB) tables() []string {
	if tables := db.writes.Load(); tables != nil {
		return *tables
	}
	return nil
}

func insertNothing(table string) string {
	return "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE false"
}

// probeSize is more than any booking needs. Were it little, it could find room
// where the next booking does not.
const probeSize = 64 << 10

func (db *DB) probeSQLite(ctx context.Context) error {
	statements := []string{
		`CREATE TABLE IF NOT EXISTS write_probe (one INTEGER PRIMARY KEY, filler BLOB)`,
		fmt.Sprintf(`INSERT OR REPLACE INTO write_probe VALUES (1, zeroblob(%d))`, probeSize),
	}
	for _, table := range db.tables() {
		statements = append(statements, insertNothing(table))
	}
	for _, statement := range statements {
		if _, err := db.DB.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// ExecContext is that of [sql.DB], and notes whether the database takes writes.
func (db *DB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := db.DB.ExecContext(ctx, query, args...)
	if writes(query) {
		changed := false
		if err == nil {
			n, countErr := res.RowsAffected()
			changed = countErr == nil && n > 0
		}
		db.health.note(err, changed)
	}
	return res, err
}

// writes reports whether it is a statement that changes rows. Those that it
// does not know prove nothing.
func writes(query string) bool {
	query = strings.TrimLeft(query, " \t\n")
	return strings.HasPrefix(query, "INSERT") || strings.HasPrefix(query, "UPDATE") || strings.HasPrefix(query, "DELETE")
}
