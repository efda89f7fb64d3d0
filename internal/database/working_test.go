package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

// answerLimit is what a check may take, on a busy machine.
const answerLimit = 20 * time.Second

// working asks, and fails the test if there is no answer in time.
func working(t *testing.T, db *database.DB) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	err := db.Working(ctx)
	if ctx.Err() != nil {
		t.Fatal("no answer in time")
	}
	return err
}

// until asks until the answer is as wanted.
func until(t *testing.T, db *database.DB, what string, is func(error) bool) error {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(3 * time.Minute)
	for {
		err := working(t, db)
		if is(err) {
			return err
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: still %v", what, err)
		}
	}
}

func failing(err error) bool { return err != nil }
func fine(err error) bool    { return err == nil }

// since is when a streak of failures began.
func since(t *testing.T, err error) time.Time {
	t.Helper()
	s, ok := errors.AsType[interface {
		error
		Since() time.Time
	}](err)
	if !ok {
		t.Fatalf("%v does not say since when", err)
	}
	return s.Since()
}

// fails goes through a fault: the database does not work, since one moment, and
// works again by itself after it.
func fails(t *testing.T, db *database.DB, begin func(), end func()) (err error) {
	t.Helper()
	_ = until(t, db, "before "+t.Name(), fine)
	before := time.Now()
	begin()
	err = until(t, db, "during "+t.Name(), failing)
	first := since(t, err)
	if first.Before(before) || first.After(time.Now()) {
		t.Errorf("failing since %s, the fault began at %s", first, before)
	}
	for range 3 {
		again := working(t, db)
		if again == nil {
			t.Fatal("it works in between")
		}
		if s := since(t, again); s.After(first) {
			t.Errorf("failing since %s, then since %s", first, s)
		}
	}
	end()
	_ = until(t, db, "after "+t.Name(), fine)
	return err
}

func TestWorking(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		if err := working(t, db); err != nil {
			t.Errorf("an empty database: %v", err)
		}
		if err := db.Migrate(t.Context(), schema(first)); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNotWorkingWhileReadOnly(t *testing.T) {
	server := testserver.SharedPostgres(t)
	url := server.Database(t, "not_working")
	db := open(t, url)
	err := fails(t, db, func() {
		server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` SET default_transaction_read_only = on`)
		server.Exec(t, "", terminate(name(t, url)))
	}, func() { server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` RESET default_transaction_read_only`) })
	if !strings.Contains(err.Error(), "read-only") && !strings.Contains(err.Error(), "terminating") {
		t.Errorf("unclear: %v", err)
	}
}

func TestNotWorkingWhileThePostgresServerDoesNot(t *testing.T) {
	server := testserver.PostgreSQL(t)
	db := open(t, server.Database(t, "not_working"))
	reload := func(names string) {
		server.Exec(t, "", `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
		server.Exec(t, "", `SELECT pg_reload_conf()`)
	}
	t.Run("commits hang", func(t *testing.T) {
		t.Cleanup(func() { reload("") })
		_ = fails(t, db, func() { reload("nobody") }, func() {
			// A second probe is at it: the first one has left nothing behind.
			began := time.Now()
			_ = until(t, db, "a second probe", func(err error) bool {
				return strings.Contains(err.Error(), "no answer") && time.Since(began) > 10*time.Second
			})
			var hanging int
			if err := db.QueryRowContext(t.Context(),
				`SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%pg_logical_emit_message%'`).Scan(&hanging); err != nil || hanging > 1 {
				t.Errorf("%d probes hang, %v", hanging, err)
			}
			reload("")
		})
	})
	t.Run("frozen", func(t *testing.T) {
		var thaw func()
		_ = fails(t, db, func() { thaw = server.Freeze(t) }, func() { thaw() })
	})
	t.Run("stopped", func(t *testing.T) {
		_ = fails(t, db, func() { server.Stop(t) }, func() { server.Start(t) })
	})
}

// A disk that is full takes no booking, although now and then a small write
// finds room.
func TestNotWorkingWhileTheDiskIsFull(t *testing.T) {
	dir := testserver.SmallDisk(t, "2m")
	db := open(t, "sqlite:"+filepath.Join(dir, "test.db"))
	exec(t, db, `CREATE TABLE t (n BIGINT, s TEXT)`)
	ballast := filepath.Join(dir, "ballast")
	err := fails(t, db, func() {
		_ = os.WriteFile(ballast, make([]byte, 2<<20), 0o600) // as much as fits
		for i := range 10_000 {
			if _, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES ($1, $2)`, i, strings.Repeat("x", 3000)); err != nil {
				return
			}
		}
		t.Fatal("the disk is not full")
	}, func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(err.Error(), "full") {
		t.Errorf("unclear: %v", err)
	}
}

// The server is well, and the service can write to none of its tables: they are
// locked, or its right to write is gone.
func TestNotWorkingWhileATableIsOutOfReach(t *testing.T) {
	server := testserver.SharedPostgres(t)
	url := server.Database(t, "locked")
	db := open(t, url)
	own := schema(first)
	own.Writes = []string{"a"}
	if err := db.Migrate(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	_ = until(t, db, "in the beginning", fine)
	other := open(t, url)
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `LOCK TABLE a`); err != nil {
		t.Fatal(err)
	}
	_ = until(t, db, "while it is locked", failing)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	_ = until(t, db, "when it is not any more", fine)
}
