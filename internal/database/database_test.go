package database_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/database"
)

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	for _, url := range []string{
		"", "mysql://x", "postgres.example", "sqlite::memory:", "sqlite:a.db?mode=ro", "sqlite:/no/such/folder/a.db",
		"postgres://u:s3cret@host:port/x", "postgres://u:s3cret/word@host/x", "postgres://u:s3cret@host/x?sslmode=perhaps",
		"postgres://host/x?user=u&password=s3cret&connect_timeout=soon", "postgres://u:s3cret%zz@host/",
	} {
		db, err := database.Open(url)
		if err == nil {
			_ = db.Close()
			t.Errorf("Open(%q) succeeded", url)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q) shows the password: %v", url, err)
		}
	}
}

func TestOpenPostgresNeedsNoServer(t *testing.T) {
	db, err := database.Open("postgres://u:s3cret@127.0.0.1:1/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if db.Dialect != database.PostgreSQL {
		t.Errorf("dialect %q", db.Dialect)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = db.PingContext(ctx)
	if err == nil || database.BlamesRow(err) {
		t.Errorf("Ping without a server: %v, want an error that does not blame a row", err)
	}
	if err != nil && strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error shows the password: %v", err)
	}
}

func TestTemporaryDatabaseIsRemovedByClose(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	db, err := database.Open("sqlite:")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, `CREATE TABLE a (b TEXT)`)
	if entries, _ := os.ReadDir(os.TempDir()); len(entries) != 1 {
		t.Fatalf("%d entries in the temporary folder, want 1", len(entries))
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(os.TempDir()); len(entries) != 0 {
		t.Errorf("Close left %v", entries)
	}
}

func TestSQLiteFileKeepsAndIsSharedByTwo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100% #1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	a := open(t, "sqlite:rel.db")
	b := open(t, "sqlite:"+filepath.Join(dir, "rel.db"))
	exec(t, a, `CREATE TABLE t (n BIGINT)`)
	exec(t, b, `INSERT INTO t VALUES (1)`)
	if _, err := os.Stat("rel.db"); err != nil {
		t.Error(err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		if err := a.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s (%v), want %s", pragma, got, err, want)
		}
	}
}
