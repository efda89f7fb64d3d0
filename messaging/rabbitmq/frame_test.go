package rabbitmq_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// One booking's headers cost nobody the connection: what only tracing needs is
// left out, and what is still too large is an error.
func TestHeadersBeyondAFrame(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{FrameSize: 8192})
	f.publish(b, "before")
	before := f.connections()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	large := func(n int) string { return "k=" + strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		headers map[string]any
		kept    string // "" if it is refused
	}{
		"baggage":    {map[string]any{"traceparent": parent, "tracestate": "a=b", "baggage": large(8000)}, "traceparent tracestate"},
		"tracestate": {map[string]any{"traceparent": parent, "tracestate": large(8000), "baggage": "a=b"}, "traceparent baggage"},
		"both":       {map[string]any{"traceparent": parent, "tracestate": large(8000), "baggage": large(8000)}, "traceparent"},
		"its own":    {map[string]any{"traceparent": parent, "mine": large(8000)}, ""},
	} {
		err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, messaging.Message{ID: name, Headers: c.headers})
		if (err == nil) != (c.kept != "") || err != nil && !errors.Is(err, messaging.ErrUnfit) {
			f.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		channel := f.channel()
		for {
			d, ok, err := channel.Get(queue, true)
			if err != nil || !ok {
				f.Fatal(name, ok, err)
			}
			if d.MessageId == "before" {
				continue
			}
			var kept []string
			for _, h := range []string{"traceparent", "tracestate", "baggage"} {
				if d.Headers[h] != nil {
					kept = append(kept, h)
				}
			}
			if got := strings.Join(kept, " "); got != c.kept {
				f.Errorf("%s: kept %s, want %s", name, got, c.kept)
			}
			break
		}
	}
	f.stillThere(before)
}

// What was just small enough is delivered although the broker has added to it:
// it waits, is dead-lettered, comes too often, and is parked.
func TestTheLargestHeadersTravel(t *testing.T) {
	f := newFixture(t)
	b := open(t, f.url, rabbitmq.Options{FrameSize: 8192})
	delay := 50 * time.Millisecond
	if err := b.Declare(f.ctx, messagingtest.Topology([]time.Duration{delay}), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	m := message("m")
	for n := 8192; ; n-- {
		m.Headers = map[string]any{"mine": strings.Repeat("x", n)}
		err := b.Publish(f.ctx, messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, queue), m)
		if err == nil {
			break
		}
		if !errors.Is(err, messaging.ErrUnfit) {
			f.Fatal(err)
		}
	}
	before := f.connections()
	parked := messaging.DeadQueue(queue)
	stop := f.consume(b, 1, func(_ context.Context, d *messaging.Delivery) { d.Settler.Lose() })
	f.readyIn(f.channel(), parked, 1)
	stop()
	seen := 0
	err := b.Browse(f.ctx, parked, func(_ context.Context, _ messaging.Message) (bool, error) {
		seen++
		return false, nil
	})
	if err != nil || seen != 1 {
		f.Errorf("looked at %d: %v", seen, err)
	}
	f.stillThere(before)
}

// stillThere fails if one of the connections was lost.
func (f *fixture) stillThere(before string) {
	f.Helper()
	after := f.connections()
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			f.Errorf("the connections were\n%s now they are\n%s", before, after)
		}
	}
}
