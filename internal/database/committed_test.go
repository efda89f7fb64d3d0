package database_test

import (
	"context"
	"errors"
	"testing"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

func TestNotCommitted(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		exec(t, db, `CREATE TABLE t (n BIGINT PRIMARY KEY)`)
		exec(t, db, `INSERT INTO t VALUES (1)`)
		for _, query := range []string{`INSERT INTO t VALUES (1)`, `INSERT INTO nowhere VALUES (1)`} {
			if _, err := db.ExecContext(t.Context(), query); !database.NotCommitted(err) {
				t.Errorf("%s: the database refused it, yet NotCommitted(%v) is false", query, err)
			}
		}
	})
	for _, err := range []error{nil, context.DeadlineExceeded, errors.New("unexpected EOF")} {
		if database.NotCommitted(err) {
			t.Errorf("NotCommitted(%v): it may have been", err)
		}
	}
	if !database.NotCommitted(database.ErrGroupClosed) {
		t.Error("a closed group commits nothing")
	}
}

func TestNotCommittedWithoutAServer(t *testing.T) {
	server := testserver.PostgreSQL(t)
	db := open(t, server.Database(t, "committed"))
	exec(t, db, `CREATE TABLE t (n BIGINT)`)
	server.Kill(t)
	// The pool's connections die first; a new one cannot be made, which is certain.
	var err error
	for range 20 {
		if _, err = db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`); database.NotCommitted(err) {
			return
		}
	}
	t.Errorf("without a server: NotCommitted(%v) is false", err)
}
