package messaging_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

// impatient is a broker that takes back what is held for longer than a limit,
// with all that its session has, as RabbitMQ does for consumer_timeout.
type impatient struct {
	messaging.Broker
	limit time.Duration
}

func (b impatient) Consume(ctx context.Context, s messaging.Subscription) error {
	handle := s.Handle
	s.Handle = func(ctx context.Context, d *messaging.Delivery) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(b.limit, func() {
			cancel(fmt.Errorf("lost: %w", &messaging.HoldTimeoutError{Limit: b.limit, Err: errors.New("consumer_timeout")}))
			d.Settler.Lose()
		})
		defer timer.Stop()
		handle(ctx, d)
	}
	return b.Broker.Consume(ctx, s)
}

// held runs a consumer of ItemReserved for so long with one message, and
// returns how often it was delivered, what it logged, and how many are parked.
func held(t *testing.T, b func(messaging.Broker) messaging.Broker, cfg messaging.ConsumerConfig, runs time.Duration,
	handle func(context.Context) error,
) (handled int, log string, parked int) {
	t.Helper()
	delays := []time.Duration{time.Second, 5 * time.Second}
	server := inproc.New(inproc.Options{})
	conn := server.Connect("payments")
	if err := conn.Declare(t.Context(), messagingtest.Topology(delays), messaging.TopologyDeclare); err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	i := messaging.Instruments{Logger: slog.New(slog.NewTextHandler(&written, nil))}
	c := messagingtest.Consumer(t, b(conn), messagingtest.Billing, cfg, i, delays,
		messaging.On(func(ctx context.Context, e messagingtest.ItemReserved) ([]messaging.Event, error) {
			if err := handle(ctx); err != nil {
				return nil, err
			}
			handled++
			return []messaging.Event{messagingtest.PaymentTaken{OrderID: e.OrderID}}, nil
		}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	m := messaging.Message{Body: []byte(`{"orderId":"` + uuid.NewString() + `","item":5}`)}
	if err := conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "ItemReserved", m); err != nil {
		t.Fatal(err)
	}
	time.Sleep(runs)
	synctest.Wait()
	stop()
	if err := errors.Join(<-done, conn.Close(context.Background())); err != nil {
		t.Error(err)
	}
	parked, _ = server.Depth("billing.ItemReserved.dead")
	return handled, written.String(), parked
}

// With a limit of 8 s on the broker a delivery was parked after 20 timeouts,
// although nothing was wrong with it.
func TestABrokersLimitIsLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		handled, log, parked := held(t, func(b messaging.Broker) messaging.Broker { return impatient{b, 8 * time.Second} },
			messaging.ConsumerConfig{}, time.Hour, func(context.Context) error {
				if time.Since(began) < 50*time.Minute {
					return messaging.Unavailable(errBroken)
				}
				return nil
			})
		if handled != 1 || parked != 0 {
			t.Errorf("handled %d times, %d are parked", handled, parked)
		}
		if n := strings.Count(log, "the broker takes deliveries back"); n != 1 || !strings.Contains(log, `"from now on"=4s`) {
			t.Errorf("the log tells of the broker's limit %d times:\n%s", n, log)
		}
		if n := strings.Count(log, "level=WARN"); n > 55 {
			t.Errorf("%d warnings in 50 minutes", n)
		}
		if n := strings.Count(log, "no delivery is held any more"); n != 1 {
			t.Errorf("the end of holding is told %d times:\n%s", n, log)
		}
	})
}

// The time of a handler is the broker's, too.
func TestAHandlerEndsWithTheHoldLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, most := time.Now(), time.Duration(0)
		handled, log, parked := held(t, func(b messaging.Broker) messaging.Broker { return b },
			messaging.ConsumerConfig{HoldLimit: 10 * time.Second}, time.Hour, func(ctx context.Context) error {
				start := time.Now()
				if time.Since(began) > 30*time.Minute {
					return nil
				}
				<-ctx.Done()
				most = max(most, time.Since(start))
				return fmt.Errorf("the bank: %s", ctx.Err()) //nolint:errorlint // a library that does not wrap
			})
		if handled != 1 || parked != 0 || most != 10*time.Second {
			t.Errorf("handled %d times, %d are parked, the handler ran for %s:\n%s", handled, parked, most, log)
		}
	})
}

// An event that no queue takes keeps its delivery, too, but not for longer.
func TestPublishingIsHeldNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handled, log, parked := held(t, func(b messaging.Broker) messaging.Broker { return unroutable{impatient{b, 20 * time.Second}} },
			messaging.ConsumerConfig{HoldLimit: 10 * time.Second}, time.Hour, func(context.Context) error { return nil })
		if handled == 0 || parked != 0 || strings.Contains(log, "the broker takes deliveries back") {
			t.Errorf("handled %d times, %d are parked:\n%s", handled, parked, log)
		}
		if !strings.Contains(log, "still holding deliveries") || strings.Count(log, "level=WARN") > 65 {
			t.Errorf("not one line a minute:\n%s", log)
		}
	})
}

// unroutable is a broker without queues for events.
type unroutable struct{ messaging.Broker }

func (b unroutable) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	if exchange == messagingtest.Shop().EventsExchange() {
		return messaging.ErrUnroutable
	}
	return b.Broker.Publish(ctx, exchange, key, m)
}
