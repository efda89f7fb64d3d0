package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

func TestBlamesRow(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		exec(t, db, `CREATE TABLE t (n BIGINT PRIMARY KEY CHECK (n < 100), s TEXT NOT NULL)`)
		exec(t, db, `INSERT INTO t VALUES (1, 'a')`)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, c := range []struct {
			name, query string
			ctx         context.Context
			blames      bool
		}{
			{"unique", `INSERT INTO t VALUES (1, 'a')`, t.Context(), true},
			{"check", `INSERT INTO t VALUES (100, 'a')`, t.Context(), true},
			{"not null", `INSERT INTO t VALUES (2, NULL)`, t.Context(), true},
			{"missing table", `INSERT INTO nowhere VALUES (1)`, t.Context(), false},
			{"syntax", `INSERT INTO`, t.Context(), false},
			{"ended context", `INSERT INTO t VALUES (3, 'a')`, ended, false},
		} {
			_, err := db.ExecContext(c.ctx, c.query)
			if err == nil || database.BlamesRow(fmt.Errorf("wrapped: %w", err)) != c.blames {
				t.Errorf("%s: BlamesRow(%v) is not %t", c.name, err, c.blames)
			}
		}
		_ = db.Close()
		if _, err := db.ExecContext(t.Context(), `SELECT 1`); err == nil || database.BlamesRow(err) {
			t.Errorf("closed: BlamesRow(%v)", err)
		}
	})
	if database.BlamesRow(nil) {
		t.Error("no error blames the row")
	}
}

func TestBlamesRowForTextThatPostgreSQLCannotStore(t *testing.T) {
	db := open(t, testserver.SharedPostgres(t).Database(t, "blame"))
	exec(t, db, `CREATE TABLE t (s TEXT)`)
	from, args := db.Table(database.Col("s", []string{"fine", "nul \x00"}))
	_, err := db.ExecContext(t.Context(), `INSERT INTO t SELECT s FROM `+from, args...)
	if !database.BlamesRow(err) {
		t.Errorf("BlamesRow(%v) is false", err)
	}
}

// Two transactions lock two rows in opposite orders: one loses.
func TestADeadlockIsALostRace(t *testing.T) {
	db := open(t, testserver.SharedPostgres(t).Database(t, "deadlock"))
	exec(t, db, `CREATE TABLE t (n BIGINT PRIMARY KEY)`)
	exec(t, db, `INSERT INTO t VALUES (1), (2)`)
	const lock = `SELECT n FROM t WHERE n = $1 FOR UPDATE`
	var both, ended sync.WaitGroup
	both.Add(2)
	errs := make([]error, 2)
	for i := range errs {
		ended.Go(func() {
			tx, err := db.BeginTx(context.Background(), nil)
			if err == nil {
				_, err = tx.ExecContext(context.Background(), lock, i+1)
			}
			both.Done()
			both.Wait()
			if err == nil {
				_, err = tx.ExecContext(context.Background(), lock, 2-i)
				_ = tx.Rollback()
			}
			errs[i] = err
		})
	}
	ended.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got %v, want one to lose", errs)
	}
	lost := errors.Join(errs...)
	if !database.LostRace(lost) || database.BlamesRow(lost) {
		t.Errorf("LostRace(%v) is false, or the row is blamed", lost)
	}
	if database.LostRace(database.Unknown(lost)) {
		t.Error("what may be committed in part is a lost race")
	}
}

func TestStoreDownBlamesNoRowAndWorksAgainAfterwards(t *testing.T) {
	server := testserver.PostgreSQL(t)
	db := open(t, server.Database(t, "down"))
	exec(t, db, `CREATE TABLE t (n BIGINT)`)
	server.Kill(t)
	_, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`)
	if err == nil || database.BlamesRow(err) || strings.Contains(err.Error(), "password") {
		t.Errorf("with the server killed: %v", err)
	}
	server.Start(t)
	exec(t, db, `INSERT INTO t VALUES (1)`)
}
