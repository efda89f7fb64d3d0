package testserver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childEnv makes this test binary a process that starts servers in the folder
// which it names, prints their addresses, and waits to be killed.
const childEnv = "BOXOFFICE_TESTSERVER_CHILD"

func child(dir string) error {
	ctx := context.Background()
	r, err := StartRabbitMQ(ctx, dir)
	if err != nil {
		return err
	}
	p, err := StartPostgres(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Println(r.host, p.host)
	select {}
}

func TestServersDoNotOutliveAKilledProcess(t *testing.T) {
	t.Parallel()
	SharedRabbitMQ(t) // skips if there is none
	SharedPostgres(t)
	dir, err := os.MkdirTemp("", "boxoffice-orphans-") //nolint:usetesting // PostgreSQL's user must get into it
	check(t, err)
	check(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })

	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	check(t, err)
	hosts := strings.Fields(line)
	for _, host := range hosts {
		if !listening(t, host) {
			t.Fatalf("nothing listens on %s", host)
		}
	}

	check(t, cmd.Process.Kill())
	_ = cmd.Wait() // "signal: killed"

	gone := func() bool {
		left, err := os.ReadDir(dir)
		check(t, err)
		return len(left) == 0 && !listening(t, hosts[0]) && !listening(t, hosts[1])
	}
	deadline := time.After(30 * time.Second)
	for poll := time.Tick(20 * time.Millisecond); !gone(); {
		select {
		case <-poll:
		case <-deadline:
			t.Fatal("servers or their files are still there 30 s after their process was killed")
		}
	}
}

func listening(t *testing.T, host string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
	if err != nil {
		return false
	}
	check(t, conn.Close())
	return true
}
