package rabbitmq_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// Bodies larger than all buffers get stuck in the socket: only who writes them
// may wait for it.
func TestStuckWriteHoldsUpNoCaller(t *testing.T) {
	f := newFixture(t)
	f.Declared(rabbitmq.Options{})
	p := rabbitmqtest.NewProxy(t, f.URL)
	b := rabbitmqtest.Open(t, p.URL, rabbitmq.Options{})
	f.Publish(b, "before")
	p.Freeze()
	large := rabbitmqtest.Message("large")
	large.Body = make([]byte, 16<<20)
	for i := range 3 {
		ctx, cancel := context.WithTimeout(f.Ctx, 500*time.Millisecond)
		err := b.Publish(ctx, messagingtest.Shop().EventsExchange(), key, large)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("publish %d: %v, want the deadline", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(f.Ctx, 100*time.Millisecond)
	defer cancel()
	check := rabbitmqtest.Within(t, 10*time.Second, "Close with a stuck write")
	if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 publishes are unconfirmed") {
		f.Errorf("close: %v, want that the stuck one is unconfirmed and the others were never written", err)
	}
	check()
}
