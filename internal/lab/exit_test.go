package lab

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// dying is a process that a fault strikes, and what happened in it, in order.
// Times are virtual.
type dying struct {
	t      *testing.T
	faults Faults
	log    bytes.Buffer
	asked  []string
	ended  sdktrace.ReadOnlySpan
	took   time.Duration
}

// OnEnd makes it a span processor, which sees spans as they end.
func (d *dying) OnEnd(s sdktrace.ReadOnlySpan) {
	d.asked = append(d.asked, "end")
	d.ended = s
}

func (*dying) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (*dying) Shutdown(context.Context) error                  { return nil }
func (*dying) ForceFlush(context.Context) error                { return nil }

// strike handles one delivery as a consumer does, with a span of its own.
func (d *dying) strike(action string) {
	d.t.Helper()
	script, err := Parse("payments.SeatReserved=" + action)
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, err := With(d.t.Context(), script)
	if err != nil {
		d.t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(d))
	defer func() {
		if err := provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
			d.t.Error(err)
		}
	}()
	d.faults.Log = slog.New(slog.NewTextHandler(&d.log, nil))
	handle := d.faults.Middleware(func(context.Context, *messaging.Delivery, messaging.Event) ([]messaging.Event, error) {
		d.asked = append(d.asked, "handle")
		return []messaging.Event{tickets.PaymentSucceeded{}}, nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		defer func() { d.took = time.Since(began) }()
		ctx, span := provider.Tracer("test").Start(ctx, "process payments.SeatReserved")
		events, err := handle(ctx, &messaging.Delivery{Queue: "payments.SeatReserved", Settler: settler{&d.asked, nil}}, tickets.SeatReserved{})
		if len(events) != 0 || !messaging.IsUnavailable(err) {
			d.t.Errorf("it goes on with %v, %v", events, err)
		}
		span.End()
	}()
	<-done
}

// exits ends the goroutine as os.Exit would end all of them: what follows the
// call does not run.
func (d *dying) exits() {
	d.asked = append(d.asked, "exit")
	runtime.Goexit()
}

func (d *dying) flushes(context.Context) error {
	d.asked = append(d.asked, "flush")
	return nil
}

func (d *dying) want(took time.Duration, asked ...string) {
	d.t.Helper()
	if !slices.Equal(d.asked, asked) || d.took != took {
		d.t.Errorf("%q in %s, want %q in %s", d.asked, d.took, asked, took)
	}
}

// The fault is on a span that has ended and is flushed before the process dies,
// which never settles the delivery.
func TestTheSpanOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dying{t: t}
		d.faults = Faults{Flush: d.flushes, Exit: d.exits}
		d.strike("exit*2")
		d.want(breath, "handle", "end", "flush", "exit")
		if s := d.ended.Status(); s.Code != codes.Error || s.Description != messaging.ErrUnsettled.Error() {
			t.Errorf("the span ends with %+v", s)
		}
		events := d.ended.Events()
		if len(events) != 2 || events[0].Name != "fault injected" || events[0].Attributes[0].Value.AsString() != "payments.SeatReserved=exit*2" ||
			events[1].Name != "exception" {
			t.Errorf("its events are %+v", events)
		}
		if text := d.log.String(); strings.Count(text, "fault injected") != 1 || strings.Contains(text, "lost") {
			t.Errorf("it logs %s", text)
		}
	})
}

// Whatever flushing does, the process dies.
func TestNothingHoldsUpTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		flush func(<-chan struct{}) func(context.Context) error
		took  time.Duration
		lost  bool
	}{
		"no telemetry": {flush: func(<-chan struct{}) func(context.Context) error { return nil }},
		"it fails": {flush: func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { return errors.New("no collector") }
		}, lost: true},
		"it is slow": {flush: func(<-chan struct{}) func(context.Context) error {
			return func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, took: flushLimit, lost: true},
		"it hangs": {flush: func(end <-chan struct{}) func(context.Context) error {
			return func(context.Context) error { <-end; return nil }
		}, took: flushLimit, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				d := &dying{t: t}
				d.faults = Faults{Flush: c.flush(end), Exit: d.exits}
				d.strike("exit")
				d.want(breath+c.took, "handle", "end", "exit")
				if lost := strings.Contains(d.log.String(), "the last traces were lost"); lost != c.lost {
					t.Errorf("it logs %s", d.log.String())
				}
			})
		})
	}
}

// Where only the channel is lost, the consumer ends the span, and nothing is flushed.
func TestALostChannelFlushesNothing(t *testing.T) {
	for _, action := range []string{"drop", "exit"} {
		synctest.Test(t, func(t *testing.T) {
			d := &dying{t: t}
			d.faults = Faults{Flush: d.flushes}
			if action == "drop" {
				d.faults.Exit = d.exits
			}
			d.strike(action)
			d.want(breath, "handle", "lose", "end")
		})
	}
}
