package rabbitmq_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// One consumer holds no more than 65535 messages.
func TestALookAtMoreThanOneConsumerHolds(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	const n = 1<<16 + 100
	var publishers errgroup.Group
	for p := range 128 {
		publishers.Go(func() error {
			for i := p; i < n; i += 128 {
				if err := b.Publish(f.Ctx, messagingtest.Shop().DeadExchange(), queue, rabbitmqtest.Message(strconv.Itoa(i))); err != nil {
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
	first := f.Contents(b, dead)
	distinct := map[string]bool{}
	for _, id := range first {
		distinct[id] = true
	}
	if len(first) != n || len(distinct) != n {
		t.Errorf("it sees %d messages, %d of them distinct, want %d", len(first), len(distinct), n)
	}
	if again := f.Contents(b, dead); !slices.Equal(again, first) {
		t.Errorf("the next look sees %d messages, not the same %d in the same order", len(again), len(first))
	}
}

// On a cluster the node beside the client may deliver long after the queue's
// leader has counted nothing more.
func TestALookWaitsForSlowDeliveries(t *testing.T) {
	f := newFixture(t)
	sent := f.Park(f.Declared(rabbitmq.Options{}), 40)
	slow := rabbitmqtest.Open(t, slowDeliveries(t, f.URL, 60*time.Millisecond), rabbitmq.Options{})
	if got := f.Contents(slow, messaging.DeadQueue(queue)); !slices.Equal(got, sent) {
		t.Errorf("it sees %d of %d: %v", len(got), len(sent), got)
	}
}

// A look that others are ahead of ends, with what there is.
func TestALookBesideAnother(t *testing.T) {
	f := newFixture(t)
	b := f.Declared(rabbitmq.Options{})
	dead := messaging.DeadQueue(queue)
	f.Park(b, 5)
	err := b.Browse(f.Ctx, dead, func(ctx context.Context, _ messaging.Message) (bool, error) {
		// The consumer that holds them is there: one that is cancelled would give
		// nothing back when its node of a cluster is lost.
		if q, err := f.Channel().QueueDeclarePassive(dead, true, false, false, false, nil); err != nil || q.Consumers != 1 {
			t.Errorf("%d consumers, %v", q.Consumers, err)
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
