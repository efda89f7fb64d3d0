package inproc

import (
	"context"
	"testing"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
)

// BenchmarkDelivery is one message from publish to ack, 64 in flight.
func BenchmarkDelivery(b *testing.B) {
	c := New(Options{}).Connect("bench")
	if err := c.Declare(b.Context(), messagingtest.Topology(nil), messaging.TopologyDeclare); err != nil {
		b.Fatal(err)
	}
	slots := make(chan struct{}, 64)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Consume(ctx, messaging.Subscription{Queue: work, Prefetch: 64, Handle: func(_ context.Context, d *messaging.Delivery) {
			if err := d.Settler.Ack(); err != nil {
				b.Error(err)
			}
			<-slots
		}})
	}()
	m := messaging.Message{
		ID: "id", Body: make([]byte, 200),
		Headers: map[string]any{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x-attempt": int64(1)},
	}
	b.ReportAllocs()
	for b.Loop() {
		slots <- struct{}{}
		if err := c.Publish(ctx, messagingtest.Shop().EventsExchange(), "OrderPlaced", m); err != nil {
			b.Fatal(err)
		}
	}
	for range cap(slots) { // the last ones are acknowledged
		slots <- struct{}{}
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	if err := c.Close(context.Background()); err != nil {
		b.Error(err)
	}
}
