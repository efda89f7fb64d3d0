package inproc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
)

func idsOf(deliveries []*messaging.Delivery) map[string]int {
	ids := map[string]int{}
	for _, d := range deliveries {
		ids[d.ID] = d.Count
	}
	return ids
}

func expectIDs(t *testing.T, got []*messaging.Delivery, want map[string]int) {
	t.Helper()
	ids := idsOf(got)
	for id, count := range want {
		if c, ok := ids[id]; !ok || c != count {
			t.Errorf("%s: delivered %v with count %d, want count %d", id, ok, c, count)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d deliveries %v, want %d", len(got), ids, len(want))
	}
}

func TestLostMessagesKeepTheirPlace(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2", "3", "4", "5", "6")
		one := b.server.Connect("one")
		two := b.server.Connect("two")
		first := b.consume(t.Context(), one, work, 2)  // 1, 2
		second := b.consume(t.Context(), two, work, 3) // 3, 4, 5
		expectIDs(t, first.take(), map[string]int{"1": 0, "2": 0})
		expectIDs(t, second.take(), map[string]int{"3": 0, "4": 0, "5": 0})
		two.Kill()
		one.Kill()
		b.expectDepth(work, 6, 0)
		var order []string
		for _, m := range b.contents() {
			order = append(order, m.ID)
		}
		if !slices.Equal(order, []string{"1", "2", "3", "4", "5", "6"}) {
			t.Errorf("the queue is in order %v", order)
		}
	})
}

func TestDropSubscribesAgain(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		c := b.server.Connect("seats")
		defer b.close(c)
		here, there := b.consume(t.Context(), c, work, 5), b.consume(t.Context(), c, "orders.PaymentRefused", 5)
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2")
		b.publish(messagingtest.Shop().EventsExchange(), "PaymentRefused", "3")
		old := here.take()
		expectIDs(t, old, map[string]int{"1": 0, "2": 0})
		expectIDs(t, there.take(), map[string]int{"3": 0})
		contexts := slices.Clone(here.contexts)
		c.Drop()
		for _, ctx := range contexts {
			if ctx.Err() == nil {
				t.Error("the context of a lost delivery goes on")
			}
		}
		if err := old[0].Settler.Ack(); err == nil {
			t.Error("a lost delivery was acknowledged")
		}
		expectIDs(t, here.take(), map[string]int{"1": 1, "2": 1}) // each once: the loss is one loss
		expectIDs(t, there.take(), map[string]int{"3": 1})
		b.expectDepth(work, 0, 2)
	})
}

// Two sessions of one connection end together: what the one gives back must
// not be delivered to the other on its way out, nor count twice.
func TestDropCountsOnce(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		c := b.server.Connect("seats")
		defer b.close(c)
		one, two := b.consume(t.Context(), c, work, 3), b.consume(t.Context(), c, work, 3)
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2")
		if n := len(one.take()) + len(two.take()); n != 2 {
			t.Fatalf("%d deliveries", n)
		}
		c.Drop()
		expectIDs(t, append(one.take(), two.take()...), map[string]int{"1": 1, "2": 1})
	})
}

func TestKillEndsForGood(t *testing.T) {
	bubble(t, Options{MaxBytes: 3 * overhead}, func(t *testing.T, b *bed) {
		c := b.server.Connect("seats")
		k := b.consume(t.Context(), c, work, 5)
		observed := make(chan error, 1)
		go func() {
			observed <- c.Observe(t.Context(), messaging.Observation{Exchange: messagingtest.Shop().EventsExchange(), Keys: []string{"#"}, See: func(string, messaging.Message) {}})
		}()
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2", "3")
		published := make(chan error, 1)
		go func() { // waits: the memory is full
			published <- c.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", messaging.Message{})
		}()
		got := k.take()
		c.Kill()
		c.Kill()
		if err := got[0].Settler.Ack(); err == nil {
			t.Error("a dead process acknowledged a delivery")
		}
		got[0].Settler.Lose() // does nothing
		if err := <-published; !errors.Is(err, messaging.ErrClosed) {
			t.Errorf("the running publish: %v, want ErrClosed", err)
		}
		if err := errors.Join(<-k.done, <-observed); err != nil {
			t.Errorf("consume and observe: %v", err)
		}
		if err := c.Ready(); !errors.Is(err, messaging.ErrClosed) {
			t.Errorf("ready: %v, want ErrClosed", err)
		}
		b.close(c)
		b.expectDepth(work, 3, 0)
	})
}

func TestDeliveryLimitIsExact(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		c := b.server.Connect("crashing")
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "deadly")
		k := b.consume(t.Context(), c, work, 1)
		for count := range messaging.WorkDeliveryLimit + 1 {
			got := k.take()
			expectIDs(t, got, map[string]int{"deadly": count})
			b.expectDepth(dead, 0, 0)
			got[0].Settler.Lose()
		}
		expectIDs(t, k.take(), nil)
		b.expectDepth(dead, 1, 0)
		b.expectDepth(work, 0, 0)
		b.close(c)
	})
}

func TestConsumeWaitsForItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := New(Options{})
		c := server.Connect("early")
		b := &bed{T: t, server: server, conn: c}
		k := b.consume(t.Context(), c, work, 1)
		if err := c.Declare(t.Context(), messagingtest.Topology(nil), messaging.TopologyDeclare); err != nil {
			t.Fatal(err)
		}
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1")
		expectIDs(t, k.take(), map[string]int{"1": 0})
		b.close(c)
		if err := <-k.done; err != nil {
			t.Error(err)
		}
	})
}

func TestAckTwiceIsAnError(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		k := b.consume(t.Context(), b.conn, work, 2)
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2")
		d := k.take()[0]
		if err := d.Settler.Ack(); err != nil {
			t.Error(err)
		}
		if err := d.Settler.Ack(); !errors.Is(err, errSettled) {
			t.Errorf("the second ack: %v", err)
		}
		b.expectDepth(work, 0, 1)
	})
}

// Close gives up on a handler that does not heed its context, but takes the
// session from it.
func TestCloseCutsStubbornHandlers(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		c := b.server.Connect("stubborn")
		letGo := make(chan struct{})
		var late error
		consumed := make(chan struct{})
		go func() {
			defer close(consumed)
			_ = c.Consume(t.Context(), messaging.Subscription{Queue: work, Handle: func(_ context.Context, d *messaging.Delivery) {
				<-letGo
				late = d.Settler.Ack()
			}})
		}()
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v, want that its time was up", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("close took %v", took)
		}
		b.expectDepth(work, 1, 0)
		close(letGo)
		<-consumed
		if !errors.Is(late, errLost) {
			t.Errorf("the late ack: %v", late)
		}
	})
}

func TestStopTakesNoMore(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		stop, letGo := make(chan struct{}), make(chan struct{})
		var acks []error // by the one handler
		consumed := make(chan error, 1)
		go func() {
			consumed <- b.conn.Consume(t.Context(), messaging.Subscription{
				Queue: work, Prefetch: 1, Stop: stop, Handle: func(_ context.Context, d *messaging.Delivery) {
					<-letGo
					acks = append(acks, d.Settler.Ack())
				},
			})
		}()
		b.publish(messagingtest.Shop().EventsExchange(), "OrderPlaced", "1", "2")
		synctest.Wait()
		close(stop)
		synctest.Wait()
		if len(consumed) != 0 {
			t.Error("Consume left a running handler")
		}
		close(letGo)
		if err := <-consumed; err != nil || len(acks) != 1 || acks[0] != nil {
			t.Errorf("consume: %v, acks %v, want one without an error", err, acks)
		}
		b.expectDepth(work, 1, 0)
	})
}
