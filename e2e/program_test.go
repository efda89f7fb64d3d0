package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"boxoffice/internal/testserver"
)

// program is a running boxoffice. What it prints goes into files, which are
// shown when the test fails.
type program struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err string // the files' names
	ended    chan struct{}
}

// launch starts boxoffice with these variables ("NAME=value") and no other settings.
func launch(t *testing.T, variables []string, args ...string) *program {
	t.Helper()
	dir := t.TempDir()
	p := &program{t: t, out: filepath.Join(dir, "stdout"), err: filepath.Join(dir, "stderr"), ended: make(chan struct{})}
	p.cmd = command(t, dir, variables, args...)
	p.cmd.Stdout, p.cmd.Stderr = create(t, p.out), create(t, p.err)
	guard := testserver.NewGuard(t)
	if err := guard.Adopt(p.cmd); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its result is in ProcessState
		guard.Forget(p.cmd.Process.Pid)
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("boxoffice %s\n%s%s", strings.Join(args, " "), tail(p.stdout()), tail(p.stderr()))
		}
	})
	return p
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func command(t *testing.T, dir string, variables []string, args ...string) *exec.Cmd {
	t.Helper()
	if err := sources(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}, variables...)
	return cmd
}

// boxoffice runs a command to its end.
func boxoffice(t *testing.T, variables []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := command(t, t.TempDir(), variables, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	_ = cmd.Wait() // its result is in ProcessState
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (p *program) stdout() string { return read(p.t, p.out) }
func (p *program) stderr() string { return read(p.t, p.err) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kill ends it by SIGKILL, if it has not ended.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // may have ended
	<-p.ended
}

// stop asks it to end, by SIGTERM or SIGINT, and returns its exit code.
func (p *program) stop(s syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("it does not end after %s", s)
	}
	return p.cmd.ProcessState.ExitCode()
}

// alive is an error once it has ended.
func (p *program) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("it has ended: %s", p.cmd.ProcessState)
	default:
		return nil
	}
}

// says waits until it has printed a text.
func (p *program) says(text string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("wait for %q", text), func(context.Context) error {
		if strings.Contains(p.stdout()+p.stderr(), text) {
			return nil
		}
		if err := p.alive(); err != nil {
			p.t.Fatal(err)
		}
		return errors.New("it does not come")
	})
}

const tailSize = 6 << 10

func tail(text string) string {
	if len(text) <= tailSize {
		return text
	}
	text = text[len(text)-tailSize:]
	return "…" + text[strings.IndexByte(text, '\n')+1:]
}
