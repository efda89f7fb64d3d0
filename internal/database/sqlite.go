package database

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// openSQLite opens a file, or a temporary one if path is empty.
//
// The pool is a single connection. SQLite has one writer at a time anyway, and
// waits for its lock by sleeping and looking again; callers that queue for
// the connection instead are served in order and at once. busy_timeout is for
// other processes on the same file.
func openSQLite(path string) (*DB, error) {
	path = strings.TrimPrefix(path, "//") // sqlite:///path is the habit of other tools
	cleanup := func() error { return nil }
	// Every commit is synced: the other services act on it, so that losing it
	// with the machine's power would let a seat be sold twice.
	synchronous := "FULL"
	switch {
	case strings.Contains(path, "?"):
		return nil, errors.New("a sqlite: URL is a plain file name: it takes no parameters")
	case path == ":memory:":
		return nil, errors.New("sqlite::memory: would be another database on each connection: use sqlite: for a temporary one")
	case path == "":
		dir, err := os.MkdirTemp("", "boxoffice-*")
		if err != nil {
			return nil, fmt.Errorf("make a temporary database: %w", err)
		}
		path = filepath.Join(dir, "boxoffice.db")
		synchronous = "OFF" // it is gone after a crash anyway
		cleanup = func() error { return os.RemoveAll(dir) }
	default:
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", path, err)
		}
		if dir, err := os.Stat(filepath.Dir(abs)); err != nil {
			return nil, fmt.Errorf("the folder of the database: %w", err)
		} else if !dir.IsDir() {
			return nil, fmt.Errorf("the folder of the database: %s is not a directory", filepath.Dir(abs))
		}
		path = abs
	}
	options := url.Values{
		"_busy_timeout": {"5000"},
		"_foreign_keys": {"on"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {synchronous},
		// A deferred transaction that reads, then writes, fails busy whatever the timeout.
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", path+"?"+options.Encode())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), cleanup())
	}
	db.SetMaxOpenConns(1)
	return newDB(db, SQLite, cleanup), nil
}
