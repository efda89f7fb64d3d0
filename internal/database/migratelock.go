package database

import (
	"context"
	"fmt"
	"time"
)

const (
	// migrateLock is PostgreSQL's advisory lock for migrations.
	migrateLock     = 0x626f78 // "box"
	migratePatience = time.Minute
	migratePoll     = 200 * time.Millisecond
)

// alone runs change while no other replica changes the schema. The lock is a
// transaction's, which keeps its server connection behind any pooler. Those who
// wait hold no connection meanwhile, that the one who works may need. SQLite
// needs none: its transactions exclude each other.
func (db *DB) alone(ctx context.Context, change func() error) error {
	if db.Dialect != PostgreSQL {
		return change()
	}
	patience := time.NewTimer(migratePatience)
	defer patience.Stop()
	poll := time.NewTicker(migratePoll)
	defer poll.Stop()
	for {
		if done, err := db.ifAlone(ctx, change); done || err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-patience.C:
			return fmt.Errorf("another replica has been migrating for %s", migratePatience)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ifAlone runs change, and reports whether it did, unless another one is at it.
func (db *DB) ifAlone(ctx context.Context, change func() error) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // lets go of the lock; nothing was written
	var locked bool
	if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, migrateLock).Scan(&locked); err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	if !locked {
		return false, nil
	}
	return true, change()
}
