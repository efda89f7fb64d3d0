package rabbitmq_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A delivery that is held for much longer than the broker's limit is handled in
// the end, was taken back once, and is never parked.
func TestConsumerTimeout(t *testing.T) {
	f := newFixture(t)
	f.server.Ctl(t, "eval", `application:set_env(rabbit, consumer_timeout, 2000), application:set_env(rabbit, channel_tick_interval, 500).`)
	defer f.server.Ctl(t, "eval", `application:set_env(rabbit, consumer_timeout, 1800000), application:set_env(rabbit, channel_tick_interval, 60000).`)
	b := open(t, f.url, rabbitmq.Options{})
	delays := []time.Duration{200 * time.Millisecond}
	if err := b.Declare(f.ctx, messagingtest.Topology(delays), messaging.TopologyDeclare); err != nil {
		f.Fatal(err)
	}
	var log buffer
	i := messaging.Instruments{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	var outside atomic.Int64 // copies of the same attempt
	handled := make(chan struct{}, 10)
	c := messagingtest.Consumer(t, b, messagingtest.Stock,
		messaging.ConsumerConfig{
			HoldLimit: 15 * time.Minute,
			Middleware: []messaging.Middleware{func(next messaging.HandleFunc) messaging.HandleFunc {
				return func(ctx context.Context, d *messaging.Delivery, e messaging.Event) ([]messaging.Event, error) {
					if d.Tries == 0 && d.Exchange == messagingtest.Shop().RedeliverExchange() {
						outside.Add(1)
					}
					return next(ctx, d, e)
				}
			}},
		}, i, delays,
		messaging.On(func(context.Context, messagingtest.OrderPlaced) ([]messaging.Event, error) {
			if outside.Load() < 3 {
				return nil, messaging.Unavailable(errors.New("down"))
			}
			handled <- struct{}{}
			return nil, nil
		}))
	ctx, stop := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	m := messaging.Message{Body: []byte(`{"orderId":"` + uuid.NewString() + `","item":5,"customer":"a","amount":1}`)}
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, m); err != nil {
		f.Fatal(err)
	}
	receive(f, handled, "the message to be handled")
	stop()
	if err := receive(f, done, "the consumer to stop"); err != nil {
		f.Error(err)
	}
	f.readyIn(f.channel(), messaging.DeadQueue(queue), 0)
	if n := strings.Count(log.String(), "the broker takes deliveries back"); n != 1 || !strings.Contains(log.String(), `"from now on"=1s`) {
		f.Errorf("the log tells of the broker's limit %d times:\n%s", n, log.String())
	}
}
