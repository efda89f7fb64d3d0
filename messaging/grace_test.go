package messaging_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

// Who stops a service is told what it waits for, unless it takes less than a second.
func TestStoppingTellsWhatItWaitsFor(t *testing.T) {
	for takes, want := range map[time.Duration][]string{
		500 * time.Millisecond: nil,
		3 * time.Second:        {"stopping: handlers still run, and get their grace"},
		time.Hour:              {"stopping: handlers still run, and get their grace", "handlers still run after the grace period; their deliveries go back to the broker"},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := inproc.New(inproc.Options{}).Connect("seats")
			if err := conn.Declare(t.Context(), messagingtest.Topology([]time.Duration{time.Second}), messaging.TopologyDeclare); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			i := messaging.Instruments{Logger: slog.New(slog.NewTextHandler(&log, nil))}
			begun := make(chan struct{})
			c := messagingtest.Consumer(t, conn, messagingtest.Stock, messaging.ConsumerConfig{Grace: 5 * time.Second}, i, []time.Duration{time.Second},
				messaging.On(func(ctx context.Context, _ messagingtest.OrderPlaced) ([]messaging.Event, error) {
					close(begun)
					select {
					case <-time.After(takes):
					case <-ctx.Done():
					}
					return nil, nil
				}))
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			m := messaging.Message{Body: []byte(`{"orderId":"` + uuid.NewString() + `","item":5}`)}
			if err := conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", m); err != nil {
				t.Fatal(err)
			}
			<-begun
			stopped := time.Now()
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if took := time.Since(stopped); took != min(takes, 5*time.Second) {
				t.Errorf("a handler that takes %s is waited for for %s", takes, took)
			}
			var told []string
			for line := range strings.Lines(log.String()) {
				if _, text, ok := strings.Cut(line, `msg="`); ok && strings.Contains(text, "handlers still run") {
					text, _, _ = strings.Cut(text, `"`)
					told = append(told, text)
				}
			}
			if !slices.Equal(told, want) {
				t.Errorf("a handler that takes %s: told %q, want %q", takes, told, want)
			}
			if err := conn.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
