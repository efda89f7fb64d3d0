package testserver

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestPostgresKeepsCommittedRowsOverKillAndStop(t *testing.T) {
	t.Parallel()
	p := PostgreSQL(t)
	url := p.Database(t, "Kept")
	query(t, url, "CREATE TABLE kept (n int)")

	query(t, url, "INSERT INTO kept VALUES (1)")
	p.Kill(t)
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a killed server accepts connections")
	}
	p.Start(t)

	query(t, url, "INSERT INTO kept VALUES (2)")
	p.Stop(t)
	p.Start(t)

	if got := query(t, url, "SELECT string_agg(n::text, ' ' ORDER BY n) FROM kept"); got != "1 2" {
		t.Fatalf("after a kill and a stop the table holds %q", got)
	}
}

func TestPostgresKillEndsAnOpenTransaction(t *testing.T) {
	t.Parallel()
	p := PostgreSQL(t)
	url := p.Database(t, "open")
	query(t, url, "CREATE TABLE kept (n int)")
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	tx, err := conn.Begin(t.Context())
	check(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO kept VALUES (1)")
	check(t, err)

	p.Kill(t)
	if err := tx.Commit(t.Context()); err == nil {
		t.Fatal("committed on a killed server")
	}
	p.Start(t)

	if got := query(t, url, "SELECT count(*)::text FROM kept"); got != "0" {
		t.Fatalf("rows of a transaction that never committed: %s", got)
	}
}

func TestPostgresIsHonest(t *testing.T) {
	t.Parallel()
	p := SharedPostgres(t)
	url := p.Database(t, "settings")
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "listen_addresses": "127.0.0.1", "max_connections": "200",
	} {
		if got := query(t, url, "SHOW "+setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
}

func TestPostgresDatabasesAreUnique(t *testing.T) {
	t.Parallel()
	p := SharedPostgres(t)
	a, b := p.Database(t, t.Name()+"/x"), p.Database(t, t.Name()+"/x")
	if a == b {
		t.Fatalf("two databases are one: %s", a)
	}
	query(t, a, "CREATE TABLE mine (n int)")
	query(t, b, "CREATE TABLE mine (n int)")
}

// query runs one statement and returns the first value of its first row.
func query(t *testing.T, url, sql string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	defer func() { check(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := conn.Query(t.Context(), sql)
	check(t, err)
	for rows.Next() && value == "" {
		check(t, rows.Scan(&value))
	}
	check(t, rows.Err())
	return value
}
