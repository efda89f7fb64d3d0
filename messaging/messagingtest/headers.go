package messagingtest

import (
	"context"
	"errors"
	"strings"

	"boxoffice/messaging"
)

func headers() []clause {
	return []clause{
		{"what only tracing needs gives way to what has no room", SmallFrames, tracingGivesWay},
		{"what has no room is ErrUnfit", SmallFrames, unfitIsAnError},
		{"a message that cannot be moved with its headers is parked without them", SmallFrames, parkedWithoutHeaders},
	}
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// roomy is a header's value that has no room in a small frame.
func roomy() string { return "k=" + strings.Repeat("x", 8192) }

func tracingGivesWay(f *fixture) {
	f.declared("topology")
	m := message("m")
	m.Headers = map[string]any{"traceparent": parent, "tracestate": "a=b", "baggage": roomy(), "mine": "x"}
	f.publish(f.connectSmall("publisher"), Shop().EventsExchange(), "OrderPlaced", m)
	d := f.next(placedQueue)
	if d.Header("traceparent") != parent || d.Header("tracestate") != "a=b" || d.Header("mine") != "x" || d.Header("baggage") != "" {
		f.Errorf("got %v, want all but the baggage", d.Headers)
	}
	if len(m.Headers) != 4 {
		f.Error("publishing changed the caller's headers")
	}
}

func unfitIsAnError(f *fixture) {
	f.declared("topology")
	b := f.connectSmall("publisher")
	m := message("m")
	m.Headers = map[string]any{"mine": roomy()}
	if err := b.Publish(f.ctx, Shop().EventsExchange(), "OrderPlaced", m); !errors.Is(err, messaging.ErrUnfit) {
		f.Errorf("got %v, want ErrUnfit", err)
	}
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("next"))
	f.expectContents(b, placedQueue, "next")
}

// Many headers of a stranger fit into the frame that brought them, but not
// beside the reason for which the message is parked.
func parkedWithoutHeaders(f *fixture) {
	f.declared("topology")
	b := f.connectSmall("consumer")
	m := message("m")
	n := 8192
	for ; ; n -= 16 { // the most that it takes
		m.Headers = map[string]any{"mine": strings.Repeat("x", n)}
		if err := b.Publish(f.ctx, Shop().EventsExchange(), "PaymentRefused", m); err == nil {
			break
		} else if !errors.Is(err, messaging.ErrUnfit) {
			f.Fatal(err)
		}
	}
	stop := f.serve(service{broker: b, handle: func(context.Context, in) ([]messaging.Event, error) {
		f.Error("a body that is no event was handled")
		return nil, nil
	}})
	d := f.next(messaging.DeadQueue(stockQueue))
	stop()
	if d.Header(messaging.HeaderReason) == "" || d.Header("mine") != "" {
		f.Errorf("parked with %v", d.Headers)
	}
}

func (f *fixture) connectSmall(name string) messaging.Broker {
	f.Helper()
	b := f.env.ConnectSmall(f.T, name)
	f.Cleanup(func() { f.close(b) })
	return b
}
