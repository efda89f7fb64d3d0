package testserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guardScript reads "+ PID" and "- PID" lines and keeps the list of process
// groups that live. Its input ends when the guard is closed or when this
// process dies, however it dies: then it kills what is left and cleans up.
const guardScript = `
groups=
while read -r op pid; do
	kept=
	for g in $groups; do [ "$g" = "$pid" ] || kept="$kept $g"; done
	groups=$kept
	[ "$op" = + ] && groups="$groups $pid"
done
for g in $groups; do kill -s KILL -- "-$g"; done
for try in 1 2 3 4 5; do "$@" && exit; sleep 1; done
`

// registerScript tells the guard about a process before it becomes the server,
// so that there is no moment in which nobody would clean up after it.
const registerScript = `echo "+ $$" >&3; exec "$@" 3>&-`

// guard is a small shell that outlives this process just long enough to end
// its servers. (Linux could do this with Pdeathsig, but that is bound to a
// thread, leaves the temp folder behind and does not exist on macOS.)
type guard struct {
	cmd   *exec.Cmd
	lines *os.File
}

// newGuard starts a guard that runs the command cleanup at its end, again if it
// fails: files may vanish while a dying server still writes some.
func newGuard(ctx context.Context, cleanup ...string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guard pipe: %w", err)
	}
	defer func() { _ = r.Close() }()
	args := append([]string{"-c", guardScript, "guard"}, cleanup...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", args...)
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not reached by Ctrl-C in the terminal
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &guard{cmd: cmd, lines: w}, nil
}

// adopt makes cmd lead a process group of its own that the guard knows.
func (g *guard) adopt(cmd *exec.Cmd) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	cmd.Args = append([]string{"sh", "-c", registerScript, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sh
	cmd.ExtraFiles = []*os.File{g.lines}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return nil
}

// forget drops a process that has ended: its id may soon be another's.
func (g *guard) forget(pid int) {
	_, _ = fmt.Fprintf(g.lines, "- %d\n", pid) // no guard, nothing to forget
}

// close ends the guard, which kills what still runs and cleans up.
func (g *guard) close() error {
	_ = g.lines.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}
