package e2e_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boxoffice/internal/testserver"
)

// piped is a running boxoffice whose output one can stop reading.
type piped struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *os.File // to read from
	ended    chan struct{}
}

// pipe starts boxoffice, or a command line in which "$@" stands for it.
func pipe(t *testing.T, variables []string, shell string, args ...string) *piped {
	t.Helper()
	p := &piped{t: t, ended: make(chan struct{})}
	p.cmd = command(t, t.TempDir(), variables, args...)
	if shell != "" {
		p.cmd.Args = append([]string{"sh", "-c", shell, "sh", binary}, args...)
		var err error
		if p.cmd.Path, err = exec.LookPath("sh"); err != nil {
			t.Fatal(err)
		}
	}
	ends := make([]*os.File, 0, 2)
	for _, read := range []**os.File{&p.out, &p.err} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		*read = r
		ends = append(ends, w)
	}
	p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[1]
	guard := testserver.NewGuard(t)
	if err := guard.Adopt(p.cmd); err != nil {
		t.Fatal(err)
	}
	err := p.cmd.Start()
	for _, w := range ends {
		_ = w.Close() // it is the command's
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its result is in ProcessState
		guard.Forget(p.cmd.Process.Pid)
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // has ended, as a rule
		<-p.ended
		_ = p.out.Close()
		_ = p.err.Close()
	})
	return p
}

// until reads from r until a line has the text.
func (p *piped) until(r *os.File, text string) {
	p.t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	seen := ""
	for reader := bufio.NewReader(r); !strings.Contains(seen, text); {
		line, err := reader.ReadString('\n')
		if seen += line; err != nil {
			p.t.Fatalf("%q does not come: %v\n%s", text, err, seen)
		}
	}
}

// exit waits for the end and returns the exit code, -1 after a fatal signal, and
// what was not read of the standard error.
func (p *piped) exit() (code int, errs string) {
	p.t.Helper()
	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(p.err) // it may be closed
		rest <- string(all)
	}()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, p.out) // it may be closed
	}()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("it does not end")
	}
	<-drained
	return p.cmd.ProcessState.ExitCode(), <-rest
}

func (p *piped) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// mindHangups has SIGHUP end what the test starts: a test run that ignores it,
// as under nohup, would hand that down.
func mindHangups(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
}

// However an experiment ends, the bank answers again for everybody.
func TestExperimentMendsHoweverItEnds(t *testing.T) {
	t.Parallel()
	mindHangups(t)
	u := newUp(t, "BANK_DELAY=1ms", "SEATS_TOTAL=100")
	p := u.start()
	at := []string{"--url=" + u.targets.Booking, "--seats-url=" + u.targets.Seats, "--payments-url=" + u.targets.Payments}
	for seat, test := range []struct {
		name string
		end  func(x *piped)
		code int
	}{
		{"SIGINT", func(x *piped) { x.signal(syscall.SIGINT) }, 130},
		{"SIGTERM", func(x *piped) { x.signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(x *piped) { x.signal(syscall.SIGHUP) }, 129},
		{"| head", func(x *piped) { _ = x.out.Close() }, 141},
		{"a terminal that is gone", func(x *piped) {
			_ = x.out.Close()
			_ = x.err.Close()
			x.signal(syscall.SIGHUP)
		}, 129},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := pipe(t, nil, "", append([]string{"experiment", "bank-outage"}, at...)...)
			x.until(x.out, "it fails before the charge")
			test.end(x)
			code, errs := x.exit()
			if code != test.code {
				t.Errorf("exit %d, want %d\n%s", code, test.code, errs)
			}
			if said := "interrupted; what was broken on purpose is mended"; !strings.Contains(errs, said) && test.code != 129 {
				t.Errorf("it does not say %q:\n%s", said, errs)
			}
			code, stdout, stderr := boxoffice(t, nil, "book", "--seat="+strconv.Itoa(90+seat), "--customer=olena", "--amount=1", "--timeout=30s", at[0])
			if code != 0 || !strings.Contains(stdout, "Confirmed") {
				t.Errorf("the bank does not answer: exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("up: exit %d", code)
	}
}

// A service works on when nobody reads its log, and stops in good order when its
// terminal is closed, but not under nohup.
func TestServicesOutliveTheirReaders(t *testing.T) {
	t.Parallel()
	mindHangups(t)
	for _, test := range []struct {
		name, shell string
		end         syscall.Signal
	}{
		{"stopped", "", syscall.SIGTERM},
		{"hung up", "", syscall.SIGHUP},
		{"nohup", `trap "" HUP; exec "$@"`, syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			u := newUp(t, "BANK_DELAY=1ms", "LOG_LEVEL=debug")
			p := pipe(t, u.env, test.shell, "up", "--data="+u.data)
			p.until(p.out, "Ctrl-C stops.")
			_ = p.out.Close()
			_ = p.err.Close()
			if test.shell != "" {
				p.signal(syscall.SIGHUP)
			}
			for _, seat := range []string{"1", "2"} {
				code, stdout, stderr := boxoffice(t, nil, "book", "--seat="+seat, "--customer=olena", "--amount=1", "--url="+u.targets.Booking)
				if code != 0 || !strings.Contains(stdout, "Confirmed") {
					t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
				}
			}
			p.signal(test.end)
			if code, _ := p.exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}
