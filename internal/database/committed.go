package database

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

// NotCommitted reports whether err says for certain that an autocommitted
// statement changed nothing. Where it does not (the connection died while the
// statement ran, the time ran out), the statement may have been committed.
func NotCommitted(err error) bool {
	if _, ok := errors.AsType[*unknownError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true // whatever the server said: it was asked nothing
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// A server that is being shut down may end a connection after a commit.
		return !strings.HasPrefix(pg.Code, "57P") && !strings.HasPrefix(pg.Code, "08")
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		// A commit that could not be synced may be in the file all the same.
		return lite.Code()&0xff != sqlitecode.SQLITE_IOERR
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, ErrGroupClosed) || errors.Is(err, ErrNotBegun)
}

// Unknown marks the error of a statement that followed one which may have
// committed: whatever it says is not about that one.
func Unknown(err error) error { return &unknownError{err} }

type unknownError struct{ err error }

func (u *unknownError) Error() string { return u.err.Error() }
func (u *unknownError) Unwrap() error { return u.err }
