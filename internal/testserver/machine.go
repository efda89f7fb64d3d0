package testserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"time"
)

// machine is what a server runs on: a process of this host, or a container.
// All methods return when the thing is done, except start, which returns as
// soon as the server runs. stop and kill of a server that is down do nothing.
type machine interface {
	start(ctx context.Context) error
	alive(ctx context.Context) error // an error with the last output once it has ended
	stop(ctx context.Context) error
	kill(ctx context.Context) error
	pause(ctx context.Context) error // it neither answers nor ends
	resume(ctx context.Context) error
	tool(ctx context.Context, name string, args ...string) (string, error) // an admin tool beside the server
	remove(ctx context.Context) error                                      // kills it and deletes its data
}

const (
	startTimeout = 3 * time.Minute // on a busy machine, and a container image may have to be pulled
	stopTimeout  = time.Minute
)

// boot starts m and waits until ready returns nil.
func boot(ctx context.Context, m machine, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := m.start(ctx); err != nil {
		return err
	}
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if err := m.alive(ctx); err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("server is not ready: %w", errors.Join(ctx.Err(), err))
		}
	}
}

// create prepares a server and boots it. Somebody else may take a port between
// the choice and the start, so a server that exits is tried again on others.
func create[S any](prepare func() (S, machine, error), boot func(S) error) (S, error) {
	var zero S
	var err error
	for range 3 {
		var s S
		var m machine
		if s, m, err = prepare(); err != nil {
			return zero, err
		}
		if err = boot(s); err == nil {
			return s, nil
		}
		err = errors.Join(err, m.remove(context.Background()))
		if !errors.Is(err, errExited) {
			break
		}
	}
	return zero, err
}

// freePort finds a free loopback port below the range from which the kernel
// takes the ports of outgoing connections: no connection can steal the port
// while the server is down, and no client that dials it over and over can end
// up connected to itself.
func freePort(ctx context.Context) (int, error) {
	const low, high = 15000, 32000
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(high-low))
		if err != nil {
			return 0, fmt.Errorf("free port: %w", err)
		}
		port := low + int(n.Int64())
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", loopback(port))
		if err != nil {
			continue // taken
		}
		return port, l.Close()
	}
	return 0, errors.New("no free loopback port")
}

// freePorts finds n free loopback ports.
func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	seen := map[int]bool{}
	for len(ports) < n {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		if !seen[port] {
			seen[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func randomHex() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
