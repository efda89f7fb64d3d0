package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"boxoffice/internal/config"
	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
)

// process is what the services of one process have in common.
type process struct {
	log      config.Log
	settings config.Service
	broker   connector
	logs     io.Writer
	shared   bool                // by several services
	recorder *telemetry.Recorder // of their spans; nil: nobody looks at them
}

// place is where a service listens and keeps its state.
type place struct {
	address  string
	variable string // that changes the address
	database config.DatabaseURL
}

// open gives a service everything that it needs to run. It connects to
// nothing: what is not there yet is waited for later.
func (p process) open(ctx context.Context, name string, at place, b builder) (h *host, err error) {
	h = &host{name: name}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(ctx))
		}
	}()
	if h.listener, err = listen(ctx, at); err != nil {
		return h, err
	}
	instance := p.settings.Instance.Name()
	h.telemetry, err = telemetry.New(ctx, telemetry.Options{
		Service: name, Instance: instance, Version: buildVersion(), Shared: p.shared,
		LogLevel: p.log.LogLevel, LogFormat: string(p.log.LogFormat), LogOutput: p.logs, Recorder: p.recorder,
	})
	if err != nil {
		return h, err
	}
	if h.broker, err = p.broker.connect(name, h.telemetry.Logger); err != nil {
		return h, fmt.Errorf("BROKER_URL: %w", err)
	}
	p.settings.Unsafe.Warn(ctx, h.telemetry.Logger)
	h.broker = p.settings.Unsafe.Broker(h.broker, h.telemetry.Logger)
	if h.db, err = database.Open(string(at.database)); err != nil {
		return h, fmt.Errorf("DATABASE_URL: %w", err)
	}
	if at.database.Temporary() && !p.shared {
		h.telemetry.Logger.WarnContext(ctx, "DATABASE_URL=sqlite: is a temporary file, which ends with this process; what it was told, and others still know, is forgotten then")
	}
	h.service = b.build(participant.Settings{
		Instance: instance, RetryDelays: p.settings.RetryDelays, HoldLimit: p.settings.HoldLimit, Topology: p.settings.Topology,
		Prefetch: p.settings.Prefetch, Grace: handlerGrace, Lab: p.settings.LabOn(p.shared), AllowedHosts: p.settings.AllowedHosts,
		Unsafe: p.settings.Unsafe, Exit: p.exit(),
	}, participant.Deps{DB: h.db, Broker: h.broker, Telemetry: h.telemetry})
	return h, nil
}

// exit is how the fault of that name ends the process, which a process of all
// services does not do.
func (p process) exit() func() {
	if p.shared {
		return nil
	}
	return func() { os.Exit(exitByFault) }
}

// exitByFault is the exit code of a process that a fault script ended.
const exitByFault = 70

// listen says what to change when it cannot.
func listen(ctx context.Context, at place) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at.address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program; choose another address with %s, for example %s=127.0.0.1:0 for any free port",
			at.address, at.variable, at.variable)
	case err != nil:
		return nil, fmt.Errorf("%s=%q: %w", at.variable, at.address, err)
	}
	return l, nil
}
