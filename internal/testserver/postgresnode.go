package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const postgresUser = "boxoffice" // of the database, not of the host

// postgresNode is PostgreSQL as a process of this host.
type postgresNode struct {
	*process
	bin, dir string
	owner    *syscall.Credential // nil: this process's own user
}

func newPostgresNode(ctx context.Context, bin, parent string, port int) (*postgresNode, error) {
	dir, err := os.MkdirTemp(parent, "boxoffice-postgres-")
	if err != nil {
		return nil, fmt.Errorf("folder for PostgreSQL: %w", err)
	}
	g, err := newGuard(ctx, "rm", "-rf", dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n := &postgresNode{bin: bin, dir: dir}
	n.process = &process{guard: g, term: syscall.SIGINT, command: func(ctx context.Context) *exec.Cmd {
		return n.command(ctx, "postgres", "-D", n.data(), "-p", strconv.Itoa(port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200")
	}}
	if err := n.init(ctx); err != nil {
		return nil, errors.Join(err, n.remove(ctx))
	}
	return n, nil
}

func (n *postgresNode) data() string { return filepath.Join(n.dir, "data") }

// init creates the cluster. PostgreSQL refuses to run as root.
func (n *postgresNode) init(ctx context.Context) error {
	if os.Geteuid() == 0 {
		owner, err := unprivileged()
		if err != nil {
			return err
		}
		n.owner = owner
		if err := os.Chown(n.dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("folder for PostgreSQL: %w", err)
		}
	}
	out, err := n.command(ctx, "initdb", "-D", n.data(), "-U", postgresUser, "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync").CombinedOutput() // --no-sync is about this command only
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (n *postgresNode) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(n.bin, program), args...)
	cmd.Dir = n.dir
	if n.owner != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: n.owner}
	}
	return cmd
}

func (n *postgresNode) tool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := n.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return string(out), nil
}

func (n *postgresNode) remove(context.Context) error {
	n.end()
	return n.guard.close()
}

// unprivileged is the user that the server runs as when this process is root.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// postgresContainer prepares PostgreSQL in Docker.
func postgresContainer(ctx context.Context, port int) (*container, error) {
	return newContainer(ctx, "postgres",
		"--publish", loopback(port)+":5432",
		"--env", "POSTGRES_USER="+postgresUser,
		"--env", "POSTGRES_HOST_AUTH_METHOD=trust",
		"--env", "POSTGRES_INITDB_ARGS=--encoding=UTF8 --locale=C",
		postgresImage, "-c", "max_connections=200")
}
