package messagingtest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"boxoffice/messaging"
)

// RunOutcomes checks what a [messaging.Consumer] on this broker makes of each
// delivery, by what its handler returned.
func RunOutcomes(t *testing.T, h Harness) {
	h.run(t, map[string][]clause{
		"success":     successes(),
		"failure":     failures(),
		"malformed":   malformed(),
		"unavailable": unavailability(),
		"shutdown":    shutdowns(),
		"renewal":     renewals(),
		"tracing":     traces(),
		"deadletters": deadLetters(),
		"carry":       carried(),
		"refusal":     refusals(),
	})
}

// The service under test is stock, and what it consumes is PaymentRefused:
// orders consumes it too, and must see nothing of the troubles of stock.
type (
	in      = PaymentRefused
	out     = ItemReturned
	handler = func(context.Context, in) ([]messaging.Event, error)
)

var outQueue = Shop().Queue(Orders, "ItemReturned")

func newIn() in { return in{OrderID: uuid.New(), Item: 7, Reason: "insufficient funds"} }

func outOf(e in) out { return out(e) }

// wire is e as it travels, without a trace.
func wire(f *fixture, e in) messaging.Message {
	f.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		f.Fatalf("encode: %v", err)
	}
	return messaging.Message{
		ID: e.Key() + ".PaymentRefused", Type: "PaymentRefused", AppID: Billing,
		CorrelationID: e.Key(), ContentType: "application/json", Timestamp: time.Now(), Body: body,
	}
}

// service is a stock service with one handler.
type service struct {
	retryDelays []time.Duration
	grace       time.Duration
	handle      handler
	renewAfter  int
	middleware  []messaging.Middleware
	broker      messaging.Broker // nil: a connection of its own
}

// serve runs a service until stop is called, which waits until it has ended.
func (f *fixture) serve(s service) (stop func()) {
	f.Helper()
	if s.broker == nil {
		s.broker = f.connect(Stock)
	}
	if s.grace == 0 {
		s.grace = patience
	}
	provider := sdktrace.NewTracerProvider()
	i := messaging.Instruments{TracerProvider: provider}
	consumer := Consumer(f, s.broker, Stock, messaging.ConsumerConfig{
		Grace: s.grace, RenewAfter: s.renewAfter, Middleware: s.middleware,
	}, i, s.retryDelays, messaging.On(s.handle))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := consumer.Run(ctx); err != nil {
			f.Errorf("run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := provider.Shutdown(context.Background()); err != nil {
			f.Errorf("shut down the tracer: %v", err)
		}
	})
	f.Cleanup(stop)
	return stop
}

// counted is a handler that reports each call before it goes on.
func counted(calls chan<- time.Time, h handler) handler {
	return func(ctx context.Context, e in) ([]messaging.Event, error) {
		calls <- time.Now()
		return h(ctx, e)
	}
}

// returns is a handler that always returns err.
func returns(err error) handler {
	return func(context.Context, in) ([]messaging.Event, error) { return nil, err }
}

// first is the first message that waits in a queue; the queue keeps it.
func (f *fixture) first(b messaging.Broker, queue string) messaging.Message {
	f.Helper()
	var list []messaging.Message
	err := b.Browse(f.ctx, queue, func(_ context.Context, m messaging.Message) (bool, error) {
		list = append(list, m)
		return false, nil
	})
	if err != nil || len(list) == 0 {
		f.Fatalf("%s holds %d messages, browse says: %v", queue, len(list), err)
	}
	return list[0]
}

// expectQuiet fails if anything is left of the service's work, other than what
// waits in the named queues.
func (f *fixture) expectQuiet(b messaging.Broker, except ...string) {
	f.Helper()
	skip := map[string]bool{outQueue: true, ordersQueue: true}
	for _, q := range except {
		skip[q] = true
	}
	for _, q := range topology().Queues {
		if !skip[q.Name] {
			f.expectContents(b, q.Name)
		}
	}
}

// spy is a broker that tells of each publish, as it ended.
type spy struct {
	messaging.Broker
	published func(exchange, key string, err error)
}

func (s spy) Publish(ctx context.Context, exchange, key string, m messaging.Message) error {
	err := s.Broker.Publish(ctx, exchange, key, m)
	s.published(exchange, key, err)
	return err
}
