package testserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// container is a server in Docker. It keeps its data and ports over stop and
// kill, like a process does.
type container struct {
	name    string
	guard   *guard
	created bool
	run     []string // the arguments of docker run after --name
}

func newContainer(ctx context.Context, kind string, run ...string) (*container, error) {
	name := "boxoffice-" + kind + "-" + randomHex()
	g, err := newGuard(ctx, "docker", "rm", "--force", "--volumes", name)
	if err != nil {
		return nil, err
	}
	return &container{name: name, guard: g, run: run}, nil
}

func (c *container) start(ctx context.Context) error {
	if c.created {
		_, err := docker(ctx, "start", c.name)
		return err
	}
	c.created = true
	_, err := docker(ctx, append([]string{"run", "--detach", "--name", c.name}, c.run...)...)
	return err
}

func (c *container) alive(ctx context.Context) error {
	state, err := docker(ctx, "inspect", "--format", "{{.State.Running}}", c.name)
	if err != nil {
		return err
	}
	if state != "true" {
		logs, _ := docker(ctx, "logs", "--tail", "50", c.name) // only decorates the error
		return fmt.Errorf("%w:\n%s", errExited, logs)
	}
	return nil
}

func (c *container) stop(ctx context.Context) error {
	_, err := docker(ctx, "stop", "-t", "60", c.name)
	return err
}

func (c *container) kill(ctx context.Context) error {
	if err := c.alive(ctx); errors.Is(err, errExited) {
		return nil // like a process: nothing to kill
	}
	if _, err := docker(ctx, "kill", c.name); err != nil {
		return err
	}
	_, err := docker(ctx, "wait", c.name)
	return err
}

func (c *container) pause(ctx context.Context) error {
	_, err := docker(ctx, "pause", c.name)
	return err
}

func (c *container) resume(ctx context.Context) error {
	_, err := docker(ctx, "unpause", c.name)
	return err
}

func (c *container) tool(ctx context.Context, name string, args ...string) (string, error) {
	return docker(ctx, append([]string{"exec", c.name, name}, args...)...)
}

func (c *container) remove(context.Context) error { return c.guard.close() }

// docker runs one docker command and returns what it printed.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("docker %s: %w: %s", args[0], err, text)
	}
	return text, nil
}
