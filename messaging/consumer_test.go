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
		if err := conn.Declare(t.Context(), messaging.NewTopology(delays), messaging.TopologyDeclare); err != nil {
			t.Fatal(err)
		}
		publisher := messaging.NewPublisher(conn, messaging.Payments, messaging.Instruments{})
		start := time.Now()
		var handled []uuid.UUID
		c := messaging.NewConsumer(conn, publisher, messaging.ConsumerConfig{Service: messaging.Payments, RetryDelays: delays},
			messaging.Instruments{}, messaging.On(func(_ context.Context, e messaging.SeatReserved) ([]messaging.Event, error) {
				if time.Since(start) < 24*time.Hour {
					return nil, messaging.Unavailable(errors.New("down"))
				}
				handled = append(handled, e.BookingID)
				return []messaging.Event{messaging.PaymentSucceeded{BookingID: e.BookingID}}, nil
			}))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		e := messaging.SeatReserved{BookingID: uuid.New(), Seat: 5, Amount: messaging.MustAmount("450")}
		if err := publisher.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		for time.Since(start) < 25*time.Hour {
			time.Sleep(time.Minute)
			synctest.Wait()
			if parked, _ := server.Depth("payments.SeatReserved.dead"); parked != 0 {
				t.Fatalf("parked after %s", time.Since(start))
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(handled) != 1 || handled[0] != e.BookingID {
			t.Errorf("handled %v", handled)
		}
		if n, _ := server.Depth("booking.PaymentSucceeded"); n != 1 {
			t.Errorf("%d outcomes", n)
		}
	})
}
