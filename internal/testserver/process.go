package testserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errExited says that a server ended although nobody asked it to.
var errExited = errors.New("server exited")

// process is one server process that can be started again after it ended.
type process struct {
	guard   *guard
	command func(context.Context) *exec.Cmd // a new one for every start
	term    syscall.Signal                  // asks for a clean end

	mu   sync.Mutex
	cmd  *exec.Cmd     // nil until the first start
	done chan struct{} // closed once the process and its descendants are gone
	out  tail
}

// start returns when the process runs, which is long before it is ready.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && !closed(p.done) {
		return errors.New("server is already running")
	}
	cmd := p.command(context.WithoutCancel(ctx)) // it outlives the call that starts it
	p.out.reset()
	// Not *os.File: so Wait also waits until every descendant that holds this
	// output is gone, and a killed server has really let go of its files.
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	cmd.WaitDelay = 10 * time.Second
	if err := p.guard.adopt(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in its output
		p.guard.forget(cmd.Process.Pid)
	}()
	return nil
}

// alive is nil while the process runs, else an error with its last output.
func (p *process) alive(context.Context) error {
	if cmd, done := p.current(); cmd == nil || closed(done) {
		return fmt.Errorf("%w:\n%s", errExited, p.out.String())
	}
	return nil
}

// stop asks the process to end and waits; it is killed when ctx ends first.
func (p *process) stop(ctx context.Context) error {
	cmd, done := p.current()
	if cmd == nil || closed(done) {
		return nil
	}
	_ = syscall.Kill(cmd.Process.Pid, p.term) // already gone is fine
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		p.end()
		return fmt.Errorf("server did not stop in time, killed: %w", ctx.Err())
	}
}

func (p *process) kill(context.Context) error { p.end(); return nil } //nolint:unparam // a machine's method

func (p *process) pause(ctx context.Context) error  { return p.signalAll(ctx, syscall.SIGSTOP) }
func (p *process) resume(ctx context.Context) error { return p.signalAll(ctx, syscall.SIGCONT) }

// signalAll reaches the children too, which may have groups of their own.
func (p *process) signalAll(ctx context.Context, s syscall.Signal) error {
	cmd, done := p.current()
	if cmd == nil || closed(done) {
		return errExited
	}
	if err := syscall.Kill(cmd.Process.Pid, s); err != nil { // first: then there are no new children
		return fmt.Errorf("signal the server: %w", err)
	}
	out, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return fmt.Errorf("find the server's children: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if n, _ := fmt.Sscan(line, &pid, &parent); n == 2 && parent == cmd.Process.Pid {
			_ = syscall.Kill(pid, s) // may have ended since
		}
	}
	return nil
}

// end kills the whole process group at once and waits until it is gone.
func (p *process) end() {
	cmd, done := p.current()
	if cmd == nil || closed(done) {
		return
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // already gone is fine
	<-done
}

func (p *process) current() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.done
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
