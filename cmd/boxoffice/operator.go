package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// operatorName is who acts, in traces and in the broker's list of connections.
const operatorName = "operator"

// operator is a person's hand on the broker, for as long as one command takes.
// Exactly one goroutine uses it.
type operator struct {
	letters   *messaging.DeadLetters
	broker    messaging.Broker
	telemetry *telemetry.Telemetry
	console   console
	url       string
	patience  time.Duration // with a broker that cannot be reached
	held      held          // what was not seen

	mu    sync.Mutex
	doing string // what it does, for those who wait
}

// openOperator connects to nothing yet.
func openOperator(ctx context.Context, c console, from deadFrom) (*operator, error) {
	t, err := telemetry.New(ctx, telemetry.Options{
		Service: operatorName, Version: buildVersion(), LogLevel: slog.LevelWarn, LogOutput: c.err,
	})
	if err != nil {
		return nil, err
	}
	b, err := brokerAt(from.BrokerURL).connect(operatorName, slog.New(slog.DiscardHandler)) // what it has to say, watch does
	if err != nil {
		return nil, errors.Join(fmt.Errorf("BROKER_URL: %w", err), t.Shutdown(ctx))
	}
	o := newOperator(b, t, c, from.BrokerURL.String(), from.Timeout)
	o.letters.PublishTimeout = from.Timeout
	return o, nil
}

func newOperator(b messaging.Broker, t *telemetry.Telemetry, c console, url string, patience time.Duration) *operator {
	instruments := messaging.Instruments{Propagator: t.Propagator}
	if _, exported := t.TracerProvider.(*sdktrace.TracerProvider); exported {
		// Else our spans would be seen nowhere, and what follows from them would hang in the air.
		instruments.TracerProvider = t.TracerProvider
	}
	o := &operator{
		letters: messaging.NewDeadLetters(b, tickets.System(nil), operatorName, instruments), broker: b, telemetry: t,
		console: c, url: url, patience: patience, doing: "connecting",
	}
	o.letters.Held = addTo(&o.held)
	return o
}

func (o *operator) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	_ = o.broker.Close(ctx)       // what was confirmed is stored; the rest has had its error
	_ = o.telemetry.Shutdown(ctx) // it has logged what is wrong
}

// list is the parked messages of the queues that match, oldest first in each.
func (o *operator) list(ctx context.Context, queues []string, match func(messaging.DeadLetter) bool) ([]messaging.DeadLetter, error) {
	var list []messaging.DeadLetter
	for _, queue := range queues {
		o.says("looking into %s", messaging.DeadQueue(queue))
		err := o.letters.List(ctx, queue, func(l messaging.DeadLetter) error {
			if match(l) {
				list = append(list, l)
			}
			return nil
		})
		if err != nil {
			return nil, o.explain(ctx, err)
		}
	}
	return list, nil
}

// explain is err as a person can use it.
func (o *operator) explain(ctx context.Context, err error) error {
	if gone, ok := errors.AsType[*goneError](context.Cause(ctx)); ok {
		return gone
	}
	if errors.Is(err, messaging.ErrNoQueue) {
		return fmt.Errorf("%w\nThe services make the queues when they start: is %s the broker that they use?", err, o.url)
	}
	return err
}

// says notes what is being done.
func (o *operator) says(format string, values ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.doing = fmt.Sprintf(format, values...)
}

// goneError is a broker that cannot be worked with.
type goneError struct {
	url   string
	cause error
}

func (g *goneError) Error() string { return fmt.Sprintf("%s: %v", g.url, g.cause) }
func (g *goneError) Unwrap() error { return g.cause }

// watch shows progress, and ends the context that it returns with a *goneError
// once the broker could not be reached for longer than the patience, or does not
// let us in. Stop it before anything else is printed, and before the operator is
// closed.
func (o *operator) watch(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	progress := showProgress(o.console.err, o.status)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(100 * time.Millisecond)
		defer look.Stop()
		for worked := time.Now(); ; {
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
			if err := o.broker.Ready(); err == nil {
				worked = time.Now()
			} else if refused(err) || time.Since(worked) >= o.patience {
				cancel(&goneError{o.url, err})
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
		progress.stop()
	}
}

// status is what there is to wait for.
func (o *operator) status() string {
	if err := o.broker.Ready(); err != nil {
		return fmt.Sprintf("waiting for %s: %v", o.url, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.doing
}
