package database_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

// name is the quoted name of the database of a URL.
func name(t *testing.T, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return `"` + strings.TrimPrefix(u.Path, "/") + `"`
}

// openConns makes the pool have n idle connections.
func openConns(t *testing.T, db *database.DB, n int) {
	t.Helper()
	conns := make([]*sql.Conn, n)
	for i := range conns {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
	}
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func terminate(db string) string {
	return `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '` + strings.Trim(db, `"`) + `' AND pid <> pg_backend_pid()`
}

// All connections were opened while the database was read-only. The first write
// that is told so has them all replaced.
func TestConnectionsDoNotOutliveAReadOnlyDatabase(t *testing.T) {
	server := testserver.SharedPostgres(t)
	url := server.Database(t, "readonly")
	db := open(t, url)
	exec(t, db, `CREATE TABLE t (n BIGINT)`)
	openConns(t, db, 8)
	server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` SET default_transaction_read_only = on`)
	server.Exec(t, "", terminate(name(t, url)))
	openConns(t, db, 8)
	_, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`)
	for range 3 { // some connections are found dead first
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "25006" {
			break
		}
		_, err = db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "25006" || !database.NotCommitted(err) {
		t.Fatalf("on a read-only database: %v", err)
	}
	openConns(t, db, 8) // as readers do
	server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` RESET default_transaction_read_only`)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (2)`); err == nil {
		t.Fatal("the connections were not read-only: the test shows nothing")
	}
	for range 16 {
		exec(t, db, `INSERT INTO t VALUES (3)`)
	}
}

// A setting that makes every statement fail, and is taken back.
func TestConnectionsDoNotOutliveWrongSettings(t *testing.T) {
	server := testserver.SharedPostgres(t)
	url := server.Database(t, "settings")
	db := open(t, url)
	exec(t, db, `CREATE TABLE t (n BIGINT)`)
	server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` SET search_path = nowhere`)
	server.Exec(t, "", terminate(name(t, url)))
	for i := 0; i < 2; { // found dead, then wrong
		_, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`)
		if err == nil {
			t.Fatal("the connection was not wrong: the test shows nothing")
		}
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42P01" {
			break
		}
	}
	server.Exec(t, "", `ALTER DATABASE `+name(t, url)+` RESET search_path`)
	exec(t, db, `INSERT INTO t VALUES (2)`)
}

// What is wrong with the data is not the connection's fault, which stays.
func TestARowsFaultKeepsTheConnection(t *testing.T) {
	db := open(t, testserver.SharedPostgres(t).Database(t, "kept"))
	db.SetMaxOpenConns(1)
	exec(t, db, `CREATE TABLE t (n BIGINT PRIMARY KEY)`)
	exec(t, db, `INSERT INTO t VALUES (1)`)
	before := backend(t, db)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`); !database.BlamesRow(err) {
		t.Fatal(err)
	}
	if after := backend(t, db); after != before {
		t.Errorf("backend %d became %d", before, after)
	}
}

func backend(t *testing.T, db *database.DB) (pid int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// A plan that is kept was made while the tables were empty.
func TestNoPlanIsKept(t *testing.T) {
	db := open(t, testserver.SharedPostgres(t).Database(t, "plans"))
	exec(t, db, `CREATE TABLE t (n BIGINT PRIMARY KEY)`)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for i := range 10 {
		if _, err := conn.ExecContext(t.Context(), `INSERT INTO t VALUES ($1)`, i); err != nil {
			t.Fatal(err)
		}
	}
	var kept int
	if err := conn.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_prepared_statements`).Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d statements are kept with their plans (%v)", kept, err)
	}
}

// Of two hosts the one to write to is found, whichever stands first.
func TestTheHostToWriteToIsFound(t *testing.T) {
	good, bad := testserver.SharedPostgres(t), testserver.PostgreSQL(t)
	u, err := url.Parse(good.Database(t, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := url.Parse(bad.Database(t, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	bad.Exec(t, "", `CREATE DATABASE `+name(t, u.String()))
	bad.Exec(t, "", `ALTER DATABASE `+name(t, u.String())+` SET default_transaction_read_only = on`)
	u.Host = other.Host + "," + u.Host
	u.RawQuery += "&target_session_attrs=read-write"
	db := open(t, u.String())
	exec(t, db, `CREATE TABLE t (n BIGINT)`)
	if err := db.Working(context.Background()); err != nil {
		t.Error(err)
	}
}
