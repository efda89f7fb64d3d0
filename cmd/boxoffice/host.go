package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
)

// How long a stopping service may take. Containers are killed after some time.
const (
	requestGrace = 5 * time.Second // for HTTP requests
	handlerGrace = 5 * time.Second // for deliveries, after that
	closeGrace   = 3 * time.Second // for the broker, and for telemetry
)

// service is one of the three.
type service interface {
	Handler() http.Handler
	Run(ctx context.Context) error
}

// drainer is a service with clients that wait: it sends them away before it stops.
type drainer interface{ Drain() }

// deferrer is a service that may stop before all that it accepted was begun; its
// rows tell the next start what that was.
type deferrer interface{ Unfinished() int }

// host runs a service with what was opened for it.
type host struct {
	name      string
	listener  net.Listener
	telemetry *telemetry.Telemetry
	broker    messaging.Broker
	db        *database.DB
	service   service
}

// url is where the service answers on this machine.
func (h *host) url() string {
	address := h.listener.Addr().String()
	if tcp, ok := h.listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		address = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return "http://" + address
}

// run works until ctx ends or the service fails, and closes everything. It
// stops from the outside in: it takes no more work, requests finish while the
// service still works, then its deliveries, and telemetry last.
func (h *host) run(ctx context.Context) error {
	h.telemetry.Logger.InfoContext(ctx, "listening", "url", h.url())
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var running errgroup.Group
	running.Go(func() error {
		defer stopServing()
		select {
		case <-serving.Done(): // the service failed
			return nil
		case <-ctx.Done():
		}
		if d, ok := h.service.(drainer); ok {
			d.Drain()
		}
		return nil
	})
	running.Go(func() error {
		defer stop()
		return httpserver.Serve(serving, h.listener, h.service.Handler(), requestGrace)
	})
	running.Go(func() error {
		defer stopServing()
		return h.service.Run(working)
	})
	err := running.Wait()
	if err == nil && ctx.Err() == nil {
		err = errors.New("stopped by itself")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", h.name, err)
	}
	h.telemetry.Logger.InfoContext(ctx, "stopped")
	return errors.Join(err, h.close(ctx))
}

// close closes what was opened, however far opening came.
func (h *host) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*closeGrace)
	defer cancel()
	closing, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	var errs []error
	if h.service == nil && h.listener != nil {
		errs = append(errs, h.listener.Close()) // else it is closed by serving it
	}
	if h.broker != nil {
		h.leave(ctx, h.broker.Close(closing))
	}
	if h.db != nil {
		errs = append(errs, h.db.Close())
	}
	if h.telemetry != nil {
		if err := h.telemetry.Shutdown(ctx); err != nil {
			h.telemetry.Logger.WarnContext(ctx, "the last traces were lost", "error", err)
		}
	}
	return errors.Join(errs...)
}

// leave tells what the broker had not confirmed when we left it. Nothing is lost:
// that is in a row or a queue, and is sent again.
func (h *host) leave(ctx context.Context, err error) {
	var attrs []any
	if s, ok := h.service.(deferrer); ok && s.Unfinished() > 0 {
		attrs = append(attrs, "bookings not begun", s.Unfinished())
	}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	if attrs != nil {
		h.telemetry.Logger.WarnContext(ctx, "the broker was left before everything was confirmed; the rest is sent again after the next start", attrs...)
	}
}

// hosts are services that run together: if one fails, all stop.
type hosts []*host

func (hs hosts) run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, h := range hs {
		running.Go(func() error { return h.run(ctx) })
	}
	return running.Wait()
}
