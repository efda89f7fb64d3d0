package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"boxoffice/tickets"
)

// carried is ctx as whoever gets what was sent from it sees it.
func carried(ctx context.Context) context.Context {
	headers := propagation.MapCarrier{}
	propagation.Baggage{}.Inject(ctx, headers)
	return propagation.Baggage{}.Extract(context.Background(), headers)
}

// packed is a context with so many members of baggage, so long together.
func packed(t *testing.T, members, bytes int) context.Context {
	t.Helper()
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf("k%d=", i))
	}
	text := strings.Join(all, ",")
	b, err := baggage.Parse(text + strings.Repeat("x", bytes-len(text)))
	if err != nil || b.Len() != members {
		t.Fatalf("%d members of baggage: %v", b.Len(), err)
	}
	return baggage.ContextWithBaggage(t.Context(), b)
}

// A script beside other baggage arrives, with that, or is refused.
func TestAScriptArrivesOrIsRefused(t *testing.T) {
	script, err := Parse("seats.BookingCreated=fail*2, payments.SeatReserved=drop")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := With(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	room := MaxBaggage - len(baggage.FromContext(alone).String()) - len(",")
	for name, c := range map[string]struct {
		members, bytes int
		want           error
	}{
		"little":                   {1, 10, nil},
		"as long as may be":        {1, room, nil},
		"as long, in many members": {maxMembers - 1, room, nil},
		"a byte too long":          {1, room + 1, ErrTooLong},
		"long by itself":           {1, MaxBaggage, ErrTooLong},
		"as many as may be":        {maxMembers - 1, 1000, nil},
		"one too many":             {maxMembers, 1000, ErrTooLong},
	} {
		ctx, err := With(packed(t, c.members, c.bytes), script)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want != nil {
			continue
		}
		got := carried(carried(ctx)) // as from the row into a message
		if s, n := scriptFrom(got).String(), baggage.FromContext(got).Len(); s != script.String() || n != c.members+1 {
			t.Errorf("%s: %q arrives, and %d members", name, s, n)
		}
		if left := baggage.FromContext(carried(Without(got))).Len(); left != c.members {
			t.Errorf("%s: without the script there are %d members", name, left)
		}
	}
}

// A script is written longer than it was read, but never too long to be read.
func TestTheLongestScriptArrives(t *testing.T) {
	var parts []string
	for _, queue := range tickets.System(nil).WorkQueues() {
		for _, action := range []string{
			"fail*10", "poison", "drop*10", "drop-after-publish*10", "exit*10", "duplicate", "delay:" + (maxDelay - time.Nanosecond).String(),
		} {
			parts = append(parts, queue+"="+action)
		}
	}
	script, err := Parse(strings.Join(parts, ","))
	if err != nil || len(script) != len(parts) {
		t.Fatalf("%d faults of %d: %v", len(script), len(parts), err)
	}
	ctx, err := With(t.Context(), script)
	if got := scriptFrom(carried(ctx)); err != nil || got.String() != script.String() {
		t.Errorf("%q arrives as %q, %v", script, got, err)
	}
}
