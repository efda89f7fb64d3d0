// Package participant is what each service of the saga does beside its own
// part in it: come up when its database and its broker do, in whatever order,
// consume until it is told to stop, and say whether it is ready.
package participant

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/internal/lab"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Deps are what a service is given: the caller picks, opens and closes them.
type Deps struct {
	DB        *database.DB
	Broker    messaging.Broker
	Telemetry *telemetry.Telemetry
}

// Settings are those that every service has.
type Settings struct {
	Instance    string // which replica this is
	RetryDelays []time.Duration
	HoldLimit   time.Duration // of one delivery; 0: the messaging default
	Topology    messaging.TopologyMode
	Prefetch    int           // deliveries of one queue at a time; 0: the messaging default
	Grace       time.Duration // for running handlers at the end; 0: the messaging default
	Lab         bool          // serve /lab, and obey the fault scripts of bookings
	// AllowedHosts are the names under which clients may ask, with Lab, beside
	// those that no stranger's page can have.
	AllowedHosts []string
	Unsafe       lab.Unsafe // the safety that is off, on purpose; "": none
	Exit         func()     // ends the process for the fault exit; nil: exit does what drop does
}

// Participant is one service's place in the saga.
type Participant struct {
	Publisher *messaging.Publisher

	wrong      error // with the system: Run fails
	service    string
	settings   Settings
	deps       Deps
	prepared   atomic.Bool
	deliveries inHand
}

// New makes the participant of a service.
func New(service string, s Settings, d Deps) *Participant {
	p := &Participant{service: service, settings: s, deps: d}
	p.Publisher, p.wrong = messaging.NewPublisher(d.Broker, tickets.System(s.RetryDelays), service, p.instruments())
	return p
}

func (p *Participant) instruments() messaging.Instruments {
	t := p.deps.Telemetry
	return messaging.Instruments{
		Logger: t.Logger, TracerProvider: t.TracerProvider, MeterProvider: t.MeterProvider, Propagator: t.Propagator,
		Namespace: "boxoffice", KeyName: "booking",
	}
}

// Declare declares the topology. It waits for a broker that is not there yet,
// until ctx ends, and is then ready to consume.
func (p *Participant) Declare(ctx context.Context) error {
	log := p.deps.Telemetry.Logger
	topology := tickets.Topology(p.settings.RetryDelays)
	if err := messaging.DeclareUntilDone(ctx, p.deps.Broker, topology, p.settings.Topology, log); err != nil {
		return fmt.Errorf("prepare the broker: %w", err)
	}
	p.prepared.Store(true)
	return nil
}

// Consume runs the handlers until ctx ends, and returns when none runs any more.
func (p *Participant) Consume(ctx context.Context, handlers ...messaging.Handler) error {
	cfg := messaging.ConsumerConfig{
		HoldLimit: p.settings.HoldLimit, Prefetch: p.settings.Prefetch, Grace: p.settings.Grace,
	}
	if p.settings.Lab {
		faults := lab.Faults{Log: p.deps.Telemetry.Logger, Flush: p.deps.Telemetry.Flush, Exit: p.settings.Exit}
		cfg.Middleware = []messaging.Middleware{faults.Middleware}
		cfg.RenewAfter = lab.RenewAfter
	}
	c, err := messaging.NewConsumer(counting{p.deps.Broker, &p.deliveries}, p.Publisher, cfg, p.instruments(), handlers...)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	return c.Run(ctx)
}

// Stopped is nil if err is only the end of ctx: the service was told to stop
// before everything was there.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

// Checks are what must work for the service to be ready.
func (p *Participant) Checks() []httpserver.Check {
	return []httpserver.Check{
		{Name: "database", Check: p.deps.DB.Working},
		{Name: "broker", Check: func(context.Context) error { return p.deps.Broker.Ready() }},
		{Name: "consume", Check: func(context.Context) error { return p.deps.Broker.Consuming() }},
		{Name: "start", Check: func(context.Context) error {
			if !p.prepared.Load() {
				return errors.New("still preparing the database and the broker")
			}
			return nil
		}},
	}
}
