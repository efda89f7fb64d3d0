package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// rabbitNode is RabbitMQ as processes of this host: the server, and an Erlang
// port mapper of its own, because the shared one would outlive the tests.
type rabbitNode struct {
	*process
	epmd    *process
	scripts string
	dir     string
	env     []string
}

// newRabbitNode prepares a node on the ports for AMQP, management, Erlang
// distribution and port mapper, in this order.
func newRabbitNode(ctx context.Context, scripts, parent string, ports []int) (*rabbitNode, error) {
	epmd, err := findEpmd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "boxoffice-rabbitmq-")
	if err != nil {
		return nil, fmt.Errorf("folder for RabbitMQ: %w", err)
	}
	g, err := newGuard(ctx, "rm", "-rf", dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n := &rabbitNode{scripts: scripts, dir: dir, env: rabbitEnv(dir, ports)}
	n.epmd = &process{guard: g, term: syscall.SIGTERM, command: n.command(epmd)}
	n.process = &process{guard: g, term: syscall.SIGTERM, command: n.command(filepath.Join(scripts, "rabbitmq-server"))}
	if err := errors.Join(writeRabbitConfig(dir, ports), n.epmd.start(ctx)); err != nil {
		return nil, errors.Join(err, n.remove(ctx))
	}
	return n, nil
}

func (n *rabbitNode) command(path string, args ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir, cmd.Env = n.dir, n.env
		return cmd
	}
}

func (n *rabbitNode) tool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := n.command(filepath.Join(n.scripts, name), args...)(ctx).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (n *rabbitNode) remove(context.Context) error {
	n.end()
	n.epmd.end()
	return n.guard.close()
}

func writeRabbitConfig(dir string, ports []int) error {
	config := fmt.Sprintf(`listeners.tcp.default = %s
management.tcp.ip = 127.0.0.1
management.tcp.port = %d
disk_free_limit.absolute = 50MB
vm_memory_high_watermark.relative = 0.4
log.console = true
log.console.level = warning
log.file = false
`, loopback(ports[0]), ports[1])
	if err := os.WriteFile(filepath.Join(dir, "rabbitmq.conf"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("RabbitMQ's configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugins"), []byte("[rabbitmq_management].\n"), 0o600); err != nil {
		return fmt.Errorf("RabbitMQ's plugins: %w", err)
	}
	return nil
}

func rabbitEnv(dir string, ports []int) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "RABBITMQ_") && !strings.HasPrefix(v, "ERL_") {
			env = append(env, v)
		}
	}
	return append(env,
		"HOME="+dir, // the Erlang cookie is there
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_EPMD_PORT="+strconv.Itoa(ports[3]),
		"RABBITMQ_NODENAME=box-"+randomHex()+"@localhost",
		"RABBITMQ_NODE_PORT="+strconv.Itoa(ports[0]),
		"RABBITMQ_DIST_PORT="+strconv.Itoa(ports[2]),
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"),
		"RABBITMQ_LOG_BASE="+filepath.Join(dir, "log"),
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "rabbitmq.conf"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(dir, "plugins"),
		"RABBITMQ_CONF_ENV_FILE="+filepath.Join(dir, "none"), // not the one in /etc
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RUNNING_UNDER_SYSTEMD=true", // the script becomes the server instead of waiting beside it
	)
}

// findEpmd finds Erlang's port mapper, which not every package puts into PATH.
func findEpmd() (string, error) {
	if path, err := exec.LookPath("epmd"); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/lib/erlang", "/usr/lib64/erlang", "/usr/local/lib/erlang", "/opt/homebrew/lib/erlang"} {
		if found, _ := filepath.Glob(pattern + "/erts-*/bin/epmd"); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errors.New("RabbitMQ: Erlang's epmd is not in PATH")
}

// rabbitContainer prepares RabbitMQ in Docker.
func rabbitContainer(ctx context.Context, image string, amqp, management int) (*container, error) {
	return newContainer(ctx, "rabbitmq",
		"--hostname", "boxoffice", // the node's name, and so its data, depends on it
		"--publish", loopback(amqp)+":5672",
		"--publish", loopback(management)+":15672",
		"--env", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-rabbit disk_free_limit 50000000",
		image)
}
