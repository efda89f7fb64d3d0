package testserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bouncer is a private PgBouncer in front of a [Postgres].
type Bouncer struct {
	*process
	host string
}

// PgBouncer starts a PgBouncer in front of a server, with this pool_mode. It
// ends with the test. There is none from Docker: where it is not installed and
// the servers come from there, the test is skipped.
func PgBouncer(tb testing.TB, p *Postgres, mode string) *Bouncer {
	tb.Helper()
	path, err := here().pgbouncer()
	if err != nil {
		if _, inDocker := p.m.(*container); inDocker {
			tb.Skip(err)
		}
		unavailable(tb, err)
	}
	b, err := create(func() (*Bouncer, machine, error) {
		port, err := freePort(tb.Context())
		if err != nil {
			return nil, nil, err
		}
		b, err := newBouncer(tb.Context(), path, p.host, mode, port)
		return b, b, err
	}, func(b *Bouncer) error { return boot(tb.Context(), b, b.ready) })
	if err != nil {
		tb.Fatalf("PgBouncer: %v", err)
	}
	tb.Cleanup(func() { check(tb, b.remove(context.Background())) })
	return b
}

// URL is that of a database of the server, behind the PgBouncer.
func (b *Bouncer) URL(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	check(tb, err)
	u.Host = b.host
	return u.String()
}

// pgbouncer is the path of the program.
func (w where) pgbouncer() (string, error) {
	for _, name := range append(w.bouncers, "pgbouncer") {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("PgBouncer is not installed, so nothing is tested behind it (package pgbouncer): %w", errMissing)
}

func newBouncer(ctx context.Context, path, server, mode string, port int) (*Bouncer, error) {
	dir, err := os.MkdirTemp("", "boxoffice-pgbouncer-")
	if err != nil {
		return nil, fmt.Errorf("folder for PgBouncer: %w", err)
	}
	g, err := newGuard(ctx, "rm", "-rf", dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b := &Bouncer{host: loopback(port), process: &process{guard: g, term: syscall.SIGTERM}}
	owner, err := bouncerOwner(dir)
	ini := filepath.Join(dir, "pgbouncer.ini")
	if err := errors.Join(err, writeBouncerConfig(ini, server, mode, port)); err != nil {
		return nil, errors.Join(err, b.remove(ctx))
	}
	b.command = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, ini)
		cmd.Dir = dir
		if owner != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
		}
		return cmd
	}
	return b, nil
}

// bouncerOwner gives the folder to the user that PgBouncer runs as: it refuses
// to be root. nil is this process's own user.
func bouncerOwner(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		return nil, fmt.Errorf("folder for PgBouncer: %w", err)
	}
	return owner, nil
}

func writeBouncerConfig(ini, server, mode string, port int) error {
	host, serverPort, _ := strings.Cut(server, ":")
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
`, host, serverPort, postgresUser, port, mode)
	if err := os.WriteFile(ini, []byte(config), 0o644); err != nil { //nolint:gosec // another user reads it
		return fmt.Errorf("PgBouncer's configuration: %w", err)
	}
	return nil
}

func (b *Bouncer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, "postgres://"+postgresUser+"@"+b.host+"/postgres?sslmode=disable")
	if err != nil {
		return fmt.Errorf("connect to PgBouncer: %w", err)
	}
	return conn.Close(ctx)
}

func (b *Bouncer) tool(context.Context, string, ...string) (string, error) {
	return "", errors.New("PgBouncer has no tools")
}

func (b *Bouncer) remove(context.Context) error {
	b.end()
	return b.guard.close()
}
