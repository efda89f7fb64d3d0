// Command withbroker runs a command with a private RabbitMQ, and names it in the
// variables that the tests of messaging read. These know nothing of how it came
// to be. It exits as the command does.
//
//	go run ./scripts/withbroker go test ./messaging/...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"boxoffice/internal/testserver"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withbroker:", err)
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("name the command to run")
	}
	broker, err := testserver.StartRabbitMQ(context.Background(), "")
	if err != nil {
		return 1, err
	}
	defer func() {
		if closing := broker.Close(); closing != nil {
			code, err = max(code, 1), errors.Join(err, closing)
		}
	}()
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx,gosec // to run what it is told is its purpose; it ends by the signals that are passed on
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "MESSAGING_TEST_REQUIRE=1",
		"MESSAGING_TEST_RABBITMQ_URL="+broker.URL, "MESSAGING_TEST_RABBITMQ_MANAGEMENT_URL="+broker.ManagementURL)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start it: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended
		case err = <-done:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(exit.ExitCode(), 1), nil
			}
			if err != nil {
				return 1, err
			}
			return 0, nil
		}
	}
}
