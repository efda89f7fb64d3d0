package database

import (
	"context"
	"fmt"
)

// Row is a row to be scanned: *sql.Row and *sql.Rows are.
type Row interface{ Scan(dest ...any) error }

// Query runs a statement that returns rows, and reads them all. The result is
// nil if there are none.
func Query[T any](ctx context.Context, db *DB, scan func(Row) (T, error), query string, args ...any) (all []T, err error) {
	if writes(query) {
		defer func() { db.health.note(err, len(all) > 0) }()
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err, below, tells more
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
