package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"boxoffice/internal/client"
	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// grace is how long the services may take to start or to stop.
const grace = 30 * time.Second

// service is one of the three.
type service interface {
	Handler() http.Handler
	Run(ctx context.Context) error
}

// plan says what to make a service of.
type plan struct {
	name, database string
	connect        connector
	build          builder
}

type (
	connector func(*slog.Logger) (messaging.Broker, error)
	builder   func(participant.Settings, participant.Deps) service
)

// platform is services that run in this process.
type platform struct {
	addresses map[string]string // by name
	running   errgroup.Group
	stop      []context.CancelFunc
	closers   []func(context.Context) error
}

// start runs a service on an address of its own, with telemetry of its own, as
// if it were alone in a process.
func (p *platform) start(ctx context.Context, s plan) error {
	db, err := database.Open(s.database)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func(context.Context) error { return db.Close() })
	t, err := telemetry.New(ctx, telemetry.Options{
		Service: s.name, Shared: true, LogLevel: slog.LevelWarn,
		Getenv: func(string) string { return "" }, // the default, whatever this shell says
	})
	if err != nil {
		return err
	}
	p.closers = append(p.closers, t.Shutdown)
	broker, err := s.connect(t.Logger)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, broker.Close)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	made := s.build(participant.Settings{
		Instance: "bench", RetryDelays: retryDelays(), Topology: messaging.TopologyDeclare, Prefetch: prefetch,
	}, participant.Deps{DB: db, Broker: broker, Telemetry: t})
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = append(p.stop, stop)
	p.running.Go(func() error { return httpserver.Serve(working, listener, made.Handler(), grace) })
	p.running.Go(func() error { return made.Run(working) })
	if p.addresses == nil {
		p.addresses = make(map[string]string)
	}
	p.addresses[s.name] = listener.Addr().String()
	return nil
}

// ready waits until everything works, and the door is open if there is one.
func (p *platform) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for name, address := range p.addresses {
		if err := ready(ctx, name, address); err != nil {
			return fmt.Errorf("%s is not ready: %w", name, err)
		}
	}
	return nil
}

func ready(ctx context.Context, name, address string) error {
	c, err := client.New("http://" + address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil || name != tickets.Booking {
		return err
	}
	return c.Accepting(ctx)
}

// close stops the services, then closes what they worked with.
func (p *platform) close(ctx context.Context) error {
	for _, stop := range p.stop {
		stop()
	}
	errs := []error{p.running.Wait()}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, closer := range slices.Backward(p.closers) {
		errs = append(errs, closer(ctx))
	}
	return errors.Join(errs...)
}

// prefetch and retryDelays are the defaults of boxoffice.
const prefetch = 256

func retryDelays() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
}
