package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"boxoffice/internal/config"
	"boxoffice/internal/experiment"
	"boxoffice/internal/telemetry"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
)

// embedded plays an experiment on services of its own.
func (e *experimentCmd) embedded(ctx context.Context, c console, x experiment.Experiment) (r experiment.Result, err error) {
	s, err := e.scene(x)
	if err != nil {
		return r, err
	}
	broker := newEmbeddedBroker()
	recorder := telemetry.NewRecorder(0)
	hs, err := s.open(ctx, process{broker: broker, logs: c.err, recorder: recorder}, "")
	if err != nil {
		return r, err
	}
	stack := experiment.Stack{
		Targets: verify.Targets{Booking: hs[0].url(), Seats: hs[1].url(), Payments: hs[2].url()},
		What:    "the three services in this process, on a broker and stores of their own", Own: true,
		Outage: brokerOutage{broker}, Queues: broker.empty,
		RetryDelays: e.RetryDelays, Patience: e.Patience, Unsafe: e.Unsafe,
	}
	if e.Unsafe != "" {
		stack.What += fmt.Sprintf("; UNSAFE=%s: %s", e.Unsafe, e.Unsafe.Consequence())
	}
	if e.Trace {
		stack.Tree = func(_ context.Context, id string) string { return telemetry.Tree(recorder.Trace(id)) }
	}
	err = hs.during(ctx, func(ctx context.Context) error {
		hand, err := broker.connect("experiment", slog.New(slog.DiscardHandler)) //nolint:contextcheck // a connection outlives the call
		if err != nil {
			return err
		}
		defer closeBroker(ctx, hand)
		stack.Broker, stack.Parked = hand, parkedOn(hand)
		r, err = experiment.Run(ctx, x, stack, c.out)
		return err
	})
	return r, err
}

// scene is the settings of the services.
func (e *experimentCmd) scene(x experiment.Experiment) (s scene, err error) {
	if err := config.Defaults(&s); err != nil {
		return s, err
	}
	s.BookingAddr, s.SeatsAddr, s.PaymentsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	s.RetryDelays, s.Unsafe = e.RetryDelays, e.Unsafe
	if x.Settings.Active > 0 {
		s.AdmissionActive, s.AdmissionWaiting, s.StallAfter = x.Settings.Active, x.Settings.Waiting, x.Settings.StallAfter
	}
	if !e.Verbose {
		s.LogLevel = slog.LevelError + 1 // what is injected is no news
	}
	return s, s.CheckDeadline(s.Service)
}

// during runs the services for as long as play takes.
func (hs hosts) during(ctx context.Context, play func(context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	playing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stopped := make(chan error, 1)
	go func() {
		err := hs.run(running)
		fail(err) // it cannot go on
		stopped <- err
	}()
	err := hs.ready(playing)
	if err == nil {
		err = play(playing)
	}
	stop()
	if failed := <-stopped; failed != nil && !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return err
}

// brokerOutage stops the broker in this process.
type brokerOutage struct{ embeddedBroker }

// Stop makes the broker unreachable.
func (b brokerOutage) Stop(context.Context) error {
	b.server.Stop()
	return nil
}

// Start makes it reachable again.
func (b brokerOutage) Start(context.Context) error {
	b.server.Start()
	return nil
}

// empty waits until no message is under way, until the deadline, and returns
// how many are in each queue but the dead ones.
func (b embeddedBroker) empty(ctx context.Context, _, deadline time.Time) (depths map[string]int, unknown string, err error) {
	for {
		left := 0
		depths = map[string]int{}
		for _, queue := range b.server.Queues() {
			if !strings.HasSuffix(queue, messaging.DeadQueue("")) {
				ready, unacked := b.server.Depth(queue)
				depths[queue] = ready + unacked
				left += depths[queue]
			}
		}
		if left == 0 || time.Now().After(deadline) {
			return depths, "", nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
}
