package testserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private PostgreSQL server.
type Postgres struct {
	host string
	m    machine
}

// StartPostgres starts a server that keeps its data in a new folder under dir
// ("" is the default temp folder), and returns when it is ready. Close ends it;
// ctx bounds only the start. Started by root, the server runs as the user
// postgres or nobody, which must be able to reach dir.
func StartPostgres(ctx context.Context, dir string) (*Postgres, error) {
	bin, err := here().postgres(ctx)
	if err != nil {
		return nil, err
	}
	return create(func() (*Postgres, machine, error) {
		port, err := freePort(ctx)
		if err != nil {
			return nil, nil, err
		}
		p := &Postgres{host: loopback(port)}
		if bin == "" {
			p.m, err = postgresContainer(ctx, port)
		} else {
			p.m, err = newPostgresNode(ctx, bin, dir, port)
		}
		return p, p.m, err
	}, func(p *Postgres) error { return p.boot(ctx) })
}

func (p *Postgres) boot(ctx context.Context) error {
	if err := boot(ctx, p.m, p.ready); err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	return nil
}

// Close ends the server and deletes its data.
func (p *Postgres) Close() error { return p.m.remove(context.Background()) }

// CreateDatabase makes an empty database, with a unique name that starts with
// name, and returns its URL.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) (string, error) {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	name = name[:min(len(name), 40)] + "_" + randomHex()
	if err := p.exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", err
	}
	return p.url(name), nil
}

func (p *Postgres) url(database string) string {
	return "postgres://" + postgresUser + "@" + p.host + "/" + database + "?sslmode=disable"
}

func (p *Postgres) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return p.exec(ctx, "SELECT 1")
}

func (p *Postgres) exec(ctx context.Context, sql string) error {
	return p.execAt(ctx, p.url("postgres"), sql)
}

func (p *Postgres) execAt(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// PostgreSQL starts a server that ends with the test.
func PostgreSQL(tb testing.TB) *Postgres {
	tb.Helper()
	p, err := StartPostgres(tb.Context(), "")
	if err != nil {
		unavailable(tb, err)
	}
	tb.Cleanup(func() { check(tb, p.Close()) })
	return p
}

// Kill ends the server at once, by SIGKILL, as a crash of its machine would.
// What was not committed is lost, what was is there after Start.
func (p *Postgres) Kill(tb testing.TB) {
	tb.Helper()
	check(tb, p.m.kill(tb.Context()))
}

// Stop ends the server in good order; open transactions are rolled back.
func (p *Postgres) Stop(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), stopTimeout)
	defer cancel()
	check(tb, p.m.stop(ctx))
}

// Start starts the server again after Kill or Stop, with the same data and on
// the same port, and returns when it is ready.
func (p *Postgres) Start(tb testing.TB) {
	tb.Helper()
	check(tb, p.boot(tb.Context()))
}

// Database is CreateDatabase for tests.
func (p *Postgres) Database(tb testing.TB, name string) string {
	tb.Helper()
	u, err := p.CreateDatabase(tb.Context(), name)
	check(tb, err)
	return u
}

// Freeze halts the server until thaw, or the end of the test: it keeps its
// connections, and answers nothing.
func (p *Postgres) Freeze(tb testing.TB) (thaw func()) {
	tb.Helper()
	check(tb, p.m.pause(tb.Context()))
	thaw = sync.OnceFunc(func() { check(tb, p.m.resume(context.WithoutCancel(tb.Context()))) })
	tb.Cleanup(thaw)
	return thaw
}

// Exec runs a statement as the server's administrator, on the database of a URL
// or, if it is "", on that of the administrator.
func (p *Postgres) Exec(tb testing.TB, url, sql string) {
	tb.Helper()
	check(tb, p.execAt(tb.Context(), cmp.Or(url, p.url("postgres")), sql))
}
