package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// park parks n messages, and returns their ids.
func (f *fixture) park(b *rabbitmq.Broker, n int) (ids []string) {
	f.Helper()
	for i := range n {
		id := fmt.Sprintf("m%04d", i)
		if err := b.Publish(f.ctx, messagingtest.Shop().DeadExchange(), queue, message(id)); err != nil {
			f.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// A queue replays its log when its broker starts again. It must then come to the
// state that it had, also where somebody who looked was killed in between: else
// what is removed afterwards is another message than the one that was removed.
func TestARestartAfterAKilledLookLosesNothing(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	dead := messaging.DeadQueue(queue)
	sent := f.park(b, 200)

	proxy := newProxy(t, f.url)
	killed := open(t, proxy.url, rabbitmq.Options{})
	looking, cut, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- killed.Browse(f.ctx, dead, func(context.Context, messaging.Message) (bool, error) {
			close(looking)
			<-cut
			return true, nil
		})
	}()
	receive(f, looking, "the first message")
	proxy.close()
	f.readyIn(f.channel(), dead, len(sent))
	close(cut)
	if err := receive(f, done, "the end of the look"); err == nil {
		t.Error("a look whose connection was lost has removed a message")
	}

	enough := errors.New("enough")
	var redriven []string
	err := b.Browse(f.ctx, dead, func(ctx context.Context, m messaging.Message) (bool, error) {
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
	f.server.Stop(t)
	f.server.Start(t)

	left := f.contents(open(t, f.url, rabbitmq.Options{}), dead)
	if !slices.Equal(left, sent[70:]) {
		t.Errorf("%d are still parked, and %d were: %v", len(left), len(sent)-70, left)
	}
}

// One consumer holds no more than 65535 messages.
func TestALookAtMoreThanOneConsumerHolds(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	const n = 1<<16 + 100
	var publishers errgroup.Group
	for p := range 128 {
		publishers.Go(func() error {
			for i := p; i < n; i += 128 {
				if err := b.Publish(f.ctx, messagingtest.Shop().DeadExchange(), queue, message(strconv.Itoa(i))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := publishers.Wait(); err != nil {
		t.Fatal(err)
	}
	dead := messaging.DeadQueue(queue)
	first := f.contents(b, dead)
	distinct := map[string]bool{}
	for _, id := range first {
		distinct[id] = true
	}
	if len(first) != n || len(distinct) != n {
		t.Errorf("it sees %d messages, %d of them distinct, want %d", len(first), len(distinct), n)
	}
	if again := f.contents(b, dead); !slices.Equal(again, first) {
		t.Errorf("the next look sees %d messages, not the same %d in the same order", len(again), len(first))
	}
}

// contents looks at all messages of a queue.
func (f *fixture) contents(b *rabbitmq.Broker, queue string) (ids []string) {
	f.Helper()
	err := b.Browse(f.ctx, queue, func(_ context.Context, m messaging.Message) (bool, error) {
		ids = append(ids, m.ID)
		return false, nil
	})
	if err != nil && !errors.Is(err, messaging.ErrHeld) {
		f.Fatal(err)
	}
	return ids
}

// On a cluster the node beside the client may deliver long after the queue's
// leader has counted nothing more.
func TestALookWaitsForSlowDeliveries(t *testing.T) {
	f := newFixture(t)
	sent := f.park(f.declared(rabbitmq.Options{}), 40)
	slow := open(t, slowDeliveries(t, f.url, 60*time.Millisecond), rabbitmq.Options{})
	if got := f.contents(slow, messaging.DeadQueue(queue)); !slices.Equal(got, sent) {
		t.Errorf("it sees %d of %d: %v", len(got), len(sent), got)
	}
}

// A look that others are ahead of ends, with what there is.
func TestALookBesideAnother(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	dead := messaging.DeadQueue(queue)
	f.park(b, 5)
	err := b.Browse(f.ctx, dead, func(ctx context.Context, _ messaging.Message) (bool, error) {
		// The consumer that holds them is there: one that is cancelled would give
		// nothing back when its node of a cluster is lost.
		if list := f.server.Ctl(t, "list_consumers", "--vhost", f.vhost, "queue_name"); !strings.Contains(list, dead) { //nolint:contextcheck // it takes the test's
			t.Errorf("the consumers are\n%s", list)
		}
		var got []string
		err := b.Browse(ctx, dead, func(_ context.Context, m messaging.Message) (bool, error) {
			got = append(got, m.ID)
			return false, nil
		})
		if len(got) != 0 || !errors.Is(err, messaging.ErrHeld) {
			t.Errorf("another look sees %v, and ends with %v", got, err)
		}
		return false, errors.New("enough")
	})
	if err == nil {
		t.Error("the error of a visit is lost")
	}
}
