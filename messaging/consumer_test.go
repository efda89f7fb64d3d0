package messaging_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

// A store that is down for a day holds its messages for a day: none is parked,
// none counts an attempt, and no delivery is held so long that a broker would
// take it away.
func TestADayOfUnavailability(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := []time.Duration{time.Second, 30 * time.Second}
		server := inproc.New(inproc.Options{})
		conn := server.Connect("payments")
		defer func() { _ = conn.Close(context.Background()) }()
		if err := conn.Declare(t.Context(), messagingtest.Topology(delays), messaging.TopologyDeclare); err != nil {
			t.Fatal(err)
		}
		publisher := messagingtest.Anybody(t, conn)
		start := time.Now()
		var handled []uuid.UUID
		c := messagingtest.Consumer(t, conn, messagingtest.Billing, messaging.ConsumerConfig{}, messaging.Instruments{}, delays,
			messaging.On(func(_ context.Context, e messagingtest.ItemReserved) ([]messaging.Event, error) {
				if time.Since(start) < 24*time.Hour {
					return nil, messaging.Unavailable(errors.New("down"))
				}
				handled = append(handled, e.OrderID)
				return []messaging.Event{messagingtest.PaymentTaken{OrderID: e.OrderID}}, nil
			}))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		e := messagingtest.ItemReserved{OrderID: uuid.New(), Item: 5}
		if err := publisher.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		for time.Since(start) < 25*time.Hour {
			time.Sleep(time.Minute)
			synctest.Wait()
			if parked, _ := server.Depth("billing.ItemReserved.dead"); parked != 0 {
				t.Fatalf("parked after %s", time.Since(start))
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(handled) != 1 || handled[0] != e.OrderID {
			t.Errorf("handled %v", handled)
		}
		if n, _ := server.Depth("orders.PaymentTaken"); n != 1 {
			t.Errorf("%d outcomes", n)
		}
	})
}
