package store

import (
	"fmt"

	"boxoffice/internal/database"
)

// clock is the moment by which deadlines are kept, in microseconds: an SQL
// expression, and a statement's arguments with what it needs. All replicas share
// the clock of PostgreSQL. A SQLite database belongs to one process, whose own
// clock it is: virtual in tests.
func (s *Store) clock(args ...any) (now string, all []any) {
	if s.db.Dialect == database.PostgreSQL {
		// A query of its own is run once for the whole statement.
		return `(SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))`, args
	}
	return fmt.Sprintf("$%d", len(args)+1), append(args, s.now().UnixMicro())
}
