package database

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sessions drops from a pool the connections that the server has made useless:
// to a standby, or with settings that have been changed since. It costs nothing
// as long as all goes well.
type sessions struct {
	era atomic.Uint64 // a connection of an earlier one is not used again
}

const eraKey = "boxoffice.era"

// distrust ends every connection that is open now, at its next use.
func (s *sessions) distrust() { s.era.Add(1) }

// watch closes each connection on an error that says that it, not the
// statement's data, is at fault.
func (s *sessions) watch(cfg *pgx.ConnConfig) {
	cfg.OnPgError = func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		// What a server says while a connection is made, such as one of several
		// hosts that is a standby, is not about those that are open.
		if _, established := c.CustomData()[eraKey]; established && serverChanged(err.Code) {
			s.distrust()
		}
		return !strings.EqualFold(err.Severity, "FATAL") && (BlamesRow(err) || LostRace(err))
	}
}

// serverChanged reports whether an error is about the server, and so about its
// other connections too: it takes no writes, or is going down.
func serverChanged(code string) bool {
	switch code {
	case "25006", // read_only_sql_transaction: a standby's, too
		"57P01", "57P02": // admin_shutdown, crash_shutdown
		return true
	}
	return false
}

func (s *sessions) opened(_ context.Context, c *pgx.Conn) error {
	c.PgConn().CustomData()[eraKey] = s.era.Load()
	return nil
}

// reused has database/sql take another connection, and make a new one in the
// end, instead of one that was opened too early.
func (s *sessions) reused(_ context.Context, c *pgx.Conn) error {
	if c.PgConn().CustomData()[eraKey] != s.era.Load() {
		return driver.ErrBadConn
	}
	return nil
}
