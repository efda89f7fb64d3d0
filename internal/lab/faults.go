package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/messaging"
)

// baggageKey is the member of the W3C baggage that holds the script.
const baggageKey = "boxoffice.lab.fault"

// What one baggage header holds at most, by the W3C and for OpenTelemetry. Its
// writers heed no limit, and its readers leave out what is beyond, at random.
const (
	MaxBaggage = 8192 // bytes, encoded
	maxMembers = 64
)

// ErrTooLong is that of a script beside which there is too much other baggage.
var ErrTooLong = fmt.Errorf("with the request's own baggage it is too long: encoded, both together may have %d bytes and %d members at most",
	MaxBaggage, maxMembers)

// With is ctx with a script in its baggage, from which the first publish of the
// booking, and every message that follows from it, takes it along. If that
// baggage could not be read again whole, it is ErrTooLong: else the script, or
// what else is there, would be lost on the way and nobody told.
func With(ctx context.Context, s Script) (context.Context, error) {
	member, err := baggage.NewMemberRaw(baggageKey, s.String())
	if err != nil {
		return ctx, fmt.Errorf("put the fault script into the baggage: %w", err)
	}
	b, err := baggage.FromContext(ctx).SetMember(member)
	if err != nil {
		return ctx, fmt.Errorf("put the fault script into the baggage: %w", err)
	}
	if _, err := baggage.Parse(b.String()); err != nil {
		return ctx, ErrTooLong // what was parsed before has no other fault
	}
	return baggage.ContextWithBaggage(ctx, b), nil
}

// Without is ctx without a script in its baggage.
func Without(ctx context.Context) context.Context {
	b := baggage.FromContext(ctx)
	if b.Member(baggageKey).Key() == "" {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, b.DeleteMember(baggageKey))
}

// scriptFrom is the script in ctx's baggage. A stranger's nonsense is none.
func scriptFrom(ctx context.Context) Script {
	text := baggage.FromContext(ctx).Member(baggageKey).Value()
	if text == "" {
		return nil
	}
	s, err := Parse(text)
	if err != nil {
		return nil
	}
	return s
}

// Faults injects the faults of the scripts that deliveries carry. Exit ends the
// process; if it is nil, which is right where one process runs all services,
// Exit does what Drop does. Flush, if set, is called before it: the fault is on
// a span, which must not die with the process.
type Faults struct {
	Log   *slog.Logger
	Flush func(context.Context) error
	Exit  func()
}

// breath is how long a channel lives before it is lost on purpose. What came back
// with the faulty delivery, and is renewed (see [RenewAfter]), is through by then:
// it would be doubled, and in the end parked.
const breath = 50 * time.Millisecond

var (
	errInjected = errors.New("injected by the fault script")
	errLost     = messaging.Unavailable(errors.New("the channel was lost on purpose"))
)

// Middleware injects the faults. Give it to the consumer only if the lab is on.
func (f Faults) Middleware(next messaging.HandleFunc) messaging.HandleFunc {
	return func(ctx context.Context, d *messaging.Delivery, e messaging.Event) ([]messaging.Event, error) {
		var mine Script
		for _, fault := range scriptFrom(ctx) {
			if fault.Queue == d.Queue {
				mine = append(mine, fault)
			}
		}
		if len(mine) == 0 {
			return next(ctx, d, e)
		}
		return f.inject(ctx, mine, d, e, next)
	}
}

func (f Faults) inject(
	ctx context.Context, s Script, d *messaging.Delivery, e messaging.Event, next messaging.HandleFunc,
) ([]messaging.Event, error) {
	if err := f.before(ctx, s, d); err != nil {
		return nil, err
	}
	events, err := next(ctx, d, e)
	if err != nil {
		return nil, err
	}
	for _, fault := range s {
		switch fault.Action {
		case Duplicate:
			f.strikes(ctx, fault, d)
			events = append(slices.Clip(events), events...)
		case Drop, Exit:
			if d.Delivered() < fault.Count {
				f.strikes(ctx, fault, d)
				if err := pause(ctx, breath); err != nil {
					return nil, err
				}
				f.die(ctx, fault.Action, d.Settler)
				return nil, errLost
			}
		case DropAfterPublish:
			if d.Delivered() < fault.Count {
				f.strikes(ctx, fault, d)
				d.Settler = loser{d.Settler}
			}
		case Fail, Poison, Delay: // they strike before
		}
	}
	return events, nil
}

// before is what strikes before the event is handled: once, and not again at
// each try of a delivery that is held. What strikes after ends the tries.
func (f Faults) before(ctx context.Context, s Script, d *messaging.Delivery) error {
	if d.Tries > 0 {
		return nil
	}
	for _, fault := range s {
		switch {
		case fault.Action == Delay:
			f.strikes(ctx, fault, d)
			if err := pause(ctx, fault.Delay); err != nil {
				return err
			}
		case fault.Action == Poison:
			f.strikes(ctx, fault, d)
			return messaging.Permanent(fmt.Errorf("%w: %s", errInjected, fault))
		case fault.Action == Fail && d.Attempt() <= fault.Count:
			f.strikes(ctx, fault, d)
			return fmt.Errorf("%w: %s, attempt %d", errInjected, fault, d.Attempt())
		}
	}
	return nil
}

// strikes makes a fault visible: on the delivery's span, and in the log.
func (f Faults) strikes(ctx context.Context, fault Fault, d *messaging.Delivery) {
	trace.SpanFromContext(ctx).AddEvent("fault injected", trace.WithAttributes(attribute.String("fault", fault.String())))
	f.Log.WarnContext(ctx, "fault injected", "fault", fault.String(), "queue", d.Queue, "booking", d.CorrelationID,
		"attempt", d.Attempt(), "delivered before", d.Delivered())
}

// loser loses the channel instead of acknowledging.
type loser struct{ messaging.Settler }

func (l loser) Ack() error {
	<-time.After(breath)
	l.Lose()
	return errLost
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
