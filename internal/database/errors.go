package database

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

// BlamesRow reports whether err says that the statement's data is at fault: a
// violated constraint, a value out of range or that the database cannot
// store. Another row would have been stored. Any other error (no connection,
// a timeout, a full disk, a missing table) means that the database
// cannot work, and says nothing about the row.
//
// A panic in a [Group]'s Commit blames the row too: if it is a bug that one
// row meets, its neighbours must not wait for ever.
func BlamesRow(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := pg.Code[:min(2, len(pg.Code))]
		return class == "22" || class == "23" // data exception, integrity constraint violation
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff { // the rest is detail
		case sqlitecode.SQLITE_CONSTRAINT, sqlitecode.SQLITE_MISMATCH, sqlitecode.SQLITE_TOOBIG:
			return true
		}
		return false
	}
	_, panicked := errors.AsType[*panicError](err)
	return panicked
}

// LostRace reports whether PostgreSQL gave up for the sake of another
// transaction: in a deadlock, or because of a stricter isolation level that the
// URL asks for. This statement changed nothing, and may well succeed if repeated.
func LostRace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40P01" || pg.Code == "40001") && NotCommitted(err)
}

// MissingTable reports whether the database has answered that a table is not
// there: its migrations have not run yet.
func MissingTable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "42P01" // undefined_table
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(lite.Error(), "no such table")
}
