package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// errMissing says that there is neither an installed server nor Docker.
var errMissing = errors.New("no Docker engine answers: `make test` installs what is missing, " +
	"or install the packages rabbitmq-server and postgresql")

// where tells where servers may be found; tests replace it.
type where struct {
	rabbitDirs  []string // folders with the scripts rabbitmq-server and rabbitmqctl
	postgresBin []string // patterns of folders with initdb and postgres
	bouncers    []string // paths of PgBouncer, where PATH has it not
	getenv      func(string) string
}

func here() where {
	return where{
		// Before PATH: Debian's scripts in /usr/sbin switch to the user rabbitmq.
		rabbitDirs: []string{"/usr/lib/rabbitmq/bin", "/opt/homebrew/sbin", "/usr/local/sbin"},
		postgresBin: []string{
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/pgsql/bin",
		},
		bouncers: []string{"/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"}, // Debian's PATH of a user has no sbin
		getenv:   os.Getenv,
	}
}

// rabbitmq is the folder of RabbitMQ's scripts, or "" for Docker.
func (w where) rabbitmq(ctx context.Context) (string, error) {
	forced := w.getenv("BOXOFFICE_TEST_DOCKER") == "1" || w.getenv("BOXOFFICE_TEST_RABBITMQ_IMAGE") != ""
	if forced {
		return "", needDocker(ctx, "RabbitMQ is wanted from Docker")
	}
	dirs := append(slices.Clone(w.rabbitDirs), dirInPath("rabbitmq-server"))
	if dir := firstWith(dirs, "rabbitmq-server", "rabbitmqctl"); dir != "" {
		return dir, nil
	}
	return "", needDocker(ctx, "RabbitMQ is not installed")
}

// postgres is the folder of the newest PostgreSQL's programs, or "" for Docker.
func (w where) postgres(ctx context.Context) (string, error) {
	if w.getenv("BOXOFFICE_TEST_DOCKER") == "1" {
		return "", needDocker(ctx, "PostgreSQL is wanted from Docker")
	}
	var dirs []string
	for _, pattern := range w.postgresBin {
		found, _ := filepath.Glob(pattern) // fails only on a malformed pattern
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if dir := firstWith(append(dirs, dirInPath("postgres")), "initdb", "postgres"); dir != "" {
		return dir, nil
	}
	return "", needDocker(ctx, "PostgreSQL is not installed")
}

// version is the major version of the PostgreSQL whose programs are in bin: 9
// for /usr/lib/postgresql/9.6/bin.
func version(bin string) int {
	numbers := strings.FieldsFunc(filepath.Base(filepath.Dir(bin)), func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(numbers[0]) // too long for an int: not a version
	return n
}

func (w where) rabbitmqImage() string {
	if image := w.getenv("BOXOFFICE_TEST_RABBITMQ_IMAGE"); image != "" {
		return image
	}
	return "rabbitmq:4.3-management"
}

const postgresImage = "postgres:17"

// needDocker is nil if a Docker engine answers, else an errMissing with the
// reason for which one is needed.
func needDocker(ctx context.Context, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := docker(ctx, "info"); err != nil {
		return fmt.Errorf("%s and %w", reason, errMissing)
	}
	return nil
}

// firstWith is the first folder that holds all these programs, or "".
func firstWith(dirs []string, programs ...string) string {
	for _, dir := range dirs {
		if dir != "" && !slices.ContainsFunc(programs, func(p string) bool {
			_, err := exec.LookPath(filepath.Join(dir, p))
			return err != nil
		}) {
			return dir
		}
	}
	return ""
}

func dirInPath(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(target) == program {
		path = target // a symlink in a bin folder stands without its siblings
	}
	return filepath.Dir(path)
}

// unavailable ends a test for want of a server, or for the error that kept one
// from starting.
func unavailable(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errMissing) && os.Getenv("BOXOFFICE_TEST_REQUIRE") != "1" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}
