package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeDocker writes its arguments into a log beside it and keeps whether its
// one container runs, so that the order of commands can be seen without an
// engine. An image named broken exits at once.
const fakeDocker = `#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/log"
case "$1" in
run) case "$*" in *broken*) echo false ;; *) echo true ;; esac >"$here/running" ;;
start) echo true >"$here/running" ;;
stop | kill) echo false >"$here/running" ;;
inspect) read -r running <"$here/running" && echo "$running" ;;
logs) echo "last words" ;;
esac
`

func TestContainerKeepsItsNameAndDataUntilRemoved(t *testing.T) {
	log := installFakeDocker(t)
	c, err := rabbitContainer(t.Context(), "rabbitmq:9", 1001, 1002)
	check(t, err)
	check(t, c.start(t.Context()))
	check(t, c.kill(t.Context()))
	check(t, c.kill(t.Context())) // it is down: nothing more to do
	check(t, c.start(t.Context()))
	_, err = c.tool(t.Context(), "rabbitmqctl", "status")
	check(t, err)
	check(t, c.stop(t.Context()))
	check(t, c.remove(t.Context()))

	want := strings.ReplaceAll(`run --detach --name NAME --hostname boxoffice `+
		`--publish 127.0.0.1:1001:5672 --publish 127.0.0.1:1002:15672 `+
		`--env RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-rabbit disk_free_limit 50000000 rabbitmq:9
inspect --format {{.State.Running}} NAME
kill NAME
wait NAME
inspect --format {{.State.Running}} NAME
logs --tail 50 NAME
start NAME
exec NAME rabbitmqctl status
stop -t 60 NAME
rm --force --volumes NAME
`, "NAME", c.name)
	got, err := os.ReadFile(log)
	check(t, err)
	if string(got) != want {
		t.Errorf("docker was called with\n%s\nwant\n%s", got, want)
	}
}

func TestContainerThatExitsSaysWhy(t *testing.T) {
	installFakeDocker(t)
	c, err := newContainer(t.Context(), "x", "broken")
	check(t, err)
	defer func() { check(t, c.remove(t.Context())) }()
	check(t, c.start(t.Context()))
	if err := c.alive(t.Context()); !errors.Is(err, errExited) || !strings.Contains(err.Error(), "last words") {
		t.Fatalf("alive: %v", err)
	}
}

func TestDockerIsUsedWhenNothingIsInstalled(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(installFakeDocker(t))) // and nothing else
	dir, err := where{getenv: env(nil)}.rabbitmq(t.Context())
	if dir != "" || err != nil {
		t.Fatalf("RabbitMQ from %q, %v; want Docker", dir, err)
	}
}

// installFakeDocker puts it first into PATH.
func installFakeDocker(t *testing.T) (log string) {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(fakeDocker), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return filepath.Join(dir, "log")
}
