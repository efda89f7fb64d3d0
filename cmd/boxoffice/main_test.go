package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boxoffice/internal/testserver"
)

// asCommand makes the test binary be the command itself.
const asCommand = "BOXOFFICE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(testserver.Main(m))
}

// patience is how long a test waits for what should come at once.
const patience = 3 * time.Minute

// command is a running boxoffice.
type command struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *output
	ended    chan struct{}
}

// start runs boxoffice with these variables ("NAME=value"), and no other settings.
func start(t *testing.T, variables []string, args ...string) *command {
	t.Helper()
	c := &command{t: t, cmd: exec.Command(os.Args[0], args...), out: newOutput(), err: newOutput(), ended: make(chan struct{})}
	c.cmd.Env = append([]string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, variables...)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	c.cmd.Dir = t.TempDir()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // its result is in ProcessState
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // has ended, as a rule
		<-c.ended
		if t.Failed() {
			t.Logf("boxoffice %s\n%s%s", strings.Join(args, " "), c.out, c.err)
		}
	})
	return c
}

func (c *command) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the end and returns the exit code, -1 after a fatal signal.
func (c *command) exit() int {
	c.t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		c.t.Fatal("it does not end")
		return 0
	}
}

// boxoffice runs a command to its end.
func boxoffice(t *testing.T, variables []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := start(t, variables, args...)
	code = c.exit()
	return code, c.out.String(), c.err.String()
}

// output collects what a command prints.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// find waits until the output matches, and returns the submatches.
func (o *output) find(t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		found, changed := expression.FindStringSubmatch(o.text.String()), o.changed
		o.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s does not come:\n%s", pattern, o)
		}
	}
}
