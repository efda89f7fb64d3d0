package booking

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
)

// flakyConn is a database connection that fails before a statement reaches the
// database, or after it was carried out, as the test likes.
type flakyConn struct {
	driver.Conn
	f *flaky
}
type flaky struct {
	drv    driver.Driver
	dsn    string
	mu     sync.Mutex
	before func(q string) error
	after  func(q string) error
	silent func(q string) <-chan struct{} // until it closes, what was carried out is not answered
}

func (f *flaky) Connect(context.Context) (driver.Conn, error) {
	c, err := f.drv.Open(f.dsn)
	return &flakyConn{c, f}, err
}
func (f *flaky) Driver() driver.Driver { return f.drv }
func (f *flaky) ask(which *func(string) error, q string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *which == nil {
		return nil
	}
	return (*which)(q)
}

func (c *flakyConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.f.ask(&c.f.before, q); err != nil {
		return nil, err
	}
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
	if err != nil {
		return nil, err
	}
	err = c.f.ask(&c.f.after, q)
	if err == nil {
		err = c.f.wait(ctx, q)
	}
	if err != nil {
		_ = rows.Close()
		return nil, err
	}
	return rows, nil
}

func (f *flaky) wait(ctx context.Context, q string) error {
	f.mu.Lock()
	silent := f.silent
	f.mu.Unlock()
	if silent == nil {
		return nil
	}
	select {
	case <-silent(q):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hang has no answer for statements that contain one of parts, until release.
func (f *flaky) hang(parts ...string) (release func()) {
	answered, open := make(chan struct{}), make(chan struct{})
	close(open)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = func(q string) <-chan struct{} {
		for _, part := range parts {
			if strings.Contains(q, part) {
				return answered
			}
		}
		return open
	}
	return sync.OnceFunc(func() { close(answered) })
}

func (c *flakyConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.f.ask(&c.f.before, q); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}

func (c *flakyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func makeFlaky(t *testing.T, r *rig) *flaky {
	dsn := strings.TrimPrefix(r.url, "sqlite:") + "?_busy_timeout=5000&_journal_mode=WAL&_txlock=immediate"
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{drv: plain.Driver(), dsn: dsn}
	_ = plain.Close()
	db := sql.OpenDB(f)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if err := r.db.DB.Close(); err != nil {
		t.Fatal(err)
	}
	r.db.DB = db
	return f
}

func (f *flaky) set(before, after func(string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}
