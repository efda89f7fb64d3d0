package database

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// NotCommitted reports whether err says for certain that an autocommitted
// statement changed nothing. Where it does not (the connection died while the
// statement ran, the time ran out), the statement may have been committed.
func NotCommitted(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// A server that is being shut down may end a connection after a commit.
		return !strings.HasPrefix(pg.Code, "57P") && !strings.HasPrefix(pg.Code, "08")
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*sqlite.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, ErrGroupClosed)
}
