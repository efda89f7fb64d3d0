package rabbitmq_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

func TestKilledBrokerLosesNothingConfirmed(t *testing.T) {
	f := newFixture(t)
	opts := rabbitmq.Options{MaxBackoff: time.Second}
	l := f.Load(f.Declared(opts), f.Declared(opts))
	l.Deliver()
	f.machine.Kill(t)
	f.machine.Start(t)
	l.Deliver()
	l.Finish()
}

// A queue replays its log when its broker starts again. It must then come to the
// state that it had, also where somebody who looked was killed in between: else
// what is removed afterwards is another message than the one that was removed.
func TestARestartAfterAKilledLookLosesNothing(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	dead := messaging.DeadQueue(queue)
	sent := f.Park(b, 200)

	proxy := rabbitmqtest.NewProxy(t, f.URL)
	killed := rabbitmqtest.Open(t, proxy.URL, rabbitmq.Options{})
	looking, cut, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- killed.Browse(f.Ctx, dead, func(context.Context, messaging.Message) (bool, error) {
			close(looking)
			<-cut
			return true, nil
		})
	}()
	receive(f, looking, "the first message")
	proxy.Close()
	f.ReadyIn(f.Channel(), dead, len(sent))
	close(cut)
	if err := receive(f, done, "the end of the look"); err == nil {
		t.Error("a look whose connection was lost has removed a message")
	}

	enough := errors.New("enough")
	var redriven []string
	err := b.Browse(f.Ctx, dead, func(ctx context.Context, m messaging.Message) (bool, error) {
		if len(redriven) == 70 {
			return false, enough
		}
		redriven = append(redriven, m.ID)
		return true, b.Publish(ctx, messagingtest.Shop().RedeliverExchange(), messaging.RedriveKey(queue), m)
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if !slices.Equal(redriven, sent[:70]) {
		t.Errorf("what a killed look gave back is in another order: %v", redriven)
	}
	f.machine.Stop(t)
	f.machine.Start(t)

	left := f.Contents(rabbitmqtest.Open(t, f.URL, rabbitmq.Options{}), dead)
	if !slices.Equal(left, sent[70:]) {
		t.Errorf("%d are still parked, and %d were: %v", len(left), len(sent)-70, left)
	}
}
