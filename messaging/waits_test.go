package messaging_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

// seen is what a consumer told of the copies that waited.
type seen struct {
	log    string
	spans  []string       // of deliveries, with what they say of a wait
	counts map[string]int // of the counter of retries, by its labels
}

// wait consumes one ItemReserved until its payment is published or it is
// parked, with delays of 1 s and 5 s.
func wait(t *testing.T, attempt any, cfg messaging.ConsumerConfig, handle func(try int) error) seen {
	t.Helper()
	delays := []time.Duration{time.Second, 5 * time.Second}
	server := inproc.New(inproc.Options{})
	conn := server.Connect("payments")
	if err := conn.Declare(t.Context(), messagingtest.Topology(delays), messaging.TopologyDeclare); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	i := messaging.Instruments{
		Logger:         slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	}
	tries := 0
	c := messagingtest.Consumer(t, conn, messagingtest.Billing, cfg, i, delays,
		messaging.On(func(_ context.Context, e messagingtest.ItemReserved) ([]messaging.Event, error) {
			tries++
			return []messaging.Event{messagingtest.PaymentTaken{OrderID: e.OrderID}}, handle(tries)
		}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	id := uuid.New()
	m := messaging.Message{Headers: map[string]any{messaging.HeaderAttempt: attempt}, Body: []byte(`{"orderId":"` + id.String() + `","item":5}`)}
	if err := conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "ItemReserved", m); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	stop()
	if err := errors.Join(<-done, conn.Close(context.Background())); err != nil {
		t.Error(err)
	}
	got := seen{log: log.String(), counts: retries(t, reader)}
	for _, s := range spans.Ended() {
		if strings.HasPrefix(s.Name(), "process ") {
			set := attribute.NewSet(s.Attributes()...)
			a, _ := set.Value("messaging.attempt")
			q, _ := set.Value("messaging.wait_queue")
			d, _ := set.Value("messaging.wait_delay")
			got.spans = append(got.spans, strings.TrimSpace(fmt.Sprint(a.AsInt64(), " ", q.AsString(), " ", d.AsString())))
		}
	}
	return got
}

func retries(t *testing.T, r *sdkmetric.ManualReader) map[string]int {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "messaging.messages.retried" {
				continue
			}
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				counts[p.Attributes.Encoded(attribute.DefaultEncoder())] += int(p.Value)
			}
		}
	}
	return counts
}

func (s seen) want(t *testing.T, counts map[string]int, spans []string, lines ...string) {
	t.Helper()
	if !maps.Equal(s.counts, counts) {
		t.Errorf("counted are %v, want %v", s.counts, counts)
	}
	if slices.Sort(s.spans); !slices.Equal(s.spans, spans) { // a lost delivery may end after the next one of its message
		t.Errorf("the spans say %q, want %q", s.spans, spans)
	}
	var waits []string
	for line := range strings.SplitSeq(s.log, "\n") {
		if _, wait, ok := strings.Cut(line, " in="); ok && strings.Contains(wait, "wait queue") {
			_, text, _ := strings.Cut(line, " msg=")
			what, _, _ := strings.Cut(strings.Trim(text, `"`), ";")
			waits = append(waits, what+": "+wait)
		}
	}
	if !slices.Equal(waits, lines) {
		t.Errorf("logged is %q, want %q, of\n%s", waits, lines, s.log)
	}
}

var errBroken = errors.New("broken")

func TestARetryCanBeFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait(t, nil, messaging.ConsumerConfig{}, func(int) error { return errBroken }).want(t,
			map[string]int{"attempt=1,delay=1s,event=ItemReserved": 1, "attempt=2,delay=5s,event=ItemReserved": 1},
			[]string{"1 billing.wait.1000ms 1s", "2 billing.wait.5000ms 5s", "3"},
			`failed: 1s "wait queue"=billing.wait.1000ms`, `failed: 5s "wait queue"=billing.wait.5000ms`)
	})
}

// What strangers write into a header makes no new time series.
func TestAStrangersAttemptIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait(t, int64(999_999), messaging.ConsumerConfig{}, func(int) error { return errBroken }).want(t,
			map[string]int{}, []string{"999999"})
	})
}

// A copy that waits as the same attempt is no retry, and says where it is.
func TestAWaitThatIsNoRetryCanBeFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		wait(t, nil, messaging.ConsumerConfig{HoldLimit: time.Second}, func(int) error {
			if time.Since(began) < 5*time.Second { // beyond the limit and the next pause; the copy comes later
				return messaging.Unavailable(errBroken)
			}
			return nil
		}).want(t, map[string]int{}, []string{"1", "1 billing.wait.5000ms 5s"}, `held for long: 5s "wait queue"=billing.wait.5000ms`)
	})
	synctest.Test(t, func(t *testing.T) {
		lost := false
		lose := func(next messaging.HandleFunc) messaging.HandleFunc {
			return func(ctx context.Context, d *messaging.Delivery, e messaging.Event) ([]messaging.Event, error) {
				if !lost {
					lost = true
					d.Settler.Lose()
					return nil, messaging.Unavailable(errBroken)
				}
				return next(ctx, d, e)
			}
		}
		wait(t, nil, messaging.ConsumerConfig{RenewAfter: 1, Middleware: []messaging.Middleware{lose}}, func(int) error { return nil }).want(t,
			map[string]int{}, []string{"1", "1", "1 billing.wait.1000ms 1s"}, `came back often: 1s "wait queue"=billing.wait.1000ms`)
	})
}
