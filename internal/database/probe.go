package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
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
// leaves nothing to be cleaned up. The lock goes with the commit: as long as an
// abandoned one hangs in the server, no other is begun there.
func (db *DB) probePostgres(ctx context.Context) error {
	var said sql.NullString
	err := db.QueryRowContext(ctx, `SELECT CASE
		WHEN current_setting('transaction_read_only')::boolean THEN 'read-only'
		WHEN NOT pg_try_advisory_xact_lock($1) THEN 'waiting'
		ELSE left(pg_logical_emit_message(true, 'boxoffice', '')::text, 0) END`, db.probeLock).Scan(&said)
	switch {
	case err != nil:
		return err
	case said.String == "read-only":
		db.distrust() // another server may be the one to write to by now
		return errors.New("the database is read-only")
	case said.String == "waiting":
		return errors.New("an earlier commit has not come to an end")
	}
	return nil
}

// probeSize is more than any booking needs. Were it little, it could find room
// where the next booking does not.
const probeSize = 64 << 10

func (db *DB) probeSQLite(ctx context.Context) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS write_probe (one INTEGER PRIMARY KEY, filler BLOB)`,
		fmt.Sprintf(`INSERT OR REPLACE INTO write_probe VALUES (1, zeroblob(%d))`, probeSize),
	} {
		if _, err := db.DB.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// newProbeLock is a key for PostgreSQL's advisory locks that no other pool has.
func newProbeLock() int64 { return rand.Int64() } //nolint:gosec // no secret

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
