package inproc

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
)

// sized is a message that takes n bytes of a queue.
func sized(id string, n int) messaging.Message {
	return messaging.Message{ID: id, Body: make([]byte, n-overhead)}
}

func TestPublishersWaitForRoomInTurn(t *testing.T) {
	bubble(t, Options{MaxBytes: 2000}, func(t *testing.T, b *bed) {
		k := b.consume(t.Context(), b.conn, work, 100)
		publish := func(ctx context.Context, id string, size int) <-chan error {
			done := make(chan error, 1)
			go func() {
				done <- b.conn.Publish(ctx, messagingtest.Shop().EventsExchange(), "OrderPlaced", sized(id, size))
			}()
			synctest.Wait()
			return done
		}
		first, second := publish(t.Context(), "1", 1000), publish(t.Context(), "2", 1000)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		if b.conn.Ready() == nil {
			t.Error("ready although the memory is full")
		}
		large := publish(t.Context(), "large", 1500)
		small := publish(t.Context(), "small", 500) // comes after the large one, though it fits before
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hasty := publish(short, "hasty", 500)
		if err := <-hasty; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without room: %v, want that its time was up", err)
		}
		got := k.take()
		if err := got[0].Settler.Ack(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(large)+len(small) != 0 {
			t.Error("a message was stored without room, or out of turn")
		}
		if err := got[1].Settler.Ack(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(<-large, <-small); err != nil {
			t.Error(err)
		}
		expectIDs(t, k.take(), map[string]int{"large": 0, "small": 0})
	})
}

func TestGivingUpLetsTheNextOneIn(t *testing.T) {
	bubble(t, Options{MaxBytes: 2000}, func(t *testing.T, b *bed) {
		if err := b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", sized("1", 1000)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		large, small := make(chan error, 1), make(chan error, 1)
		go func() {
			large <- b.conn.Publish(ctx, messagingtest.Shop().EventsExchange(), "OrderPlaced", sized("large", 1500))
		}()
		synctest.Wait()
		go func() {
			small <- b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", sized("small", 500))
		}()
		synctest.Wait()
		if len(small) != 0 {
			t.Error("the small one overtook")
		}
		cancel()
		if err := <-large; !errors.Is(err, context.Canceled) {
			t.Errorf("the large one: %v", err)
		}
		if err := <-small; err != nil {
			t.Errorf("the small one: %v", err)
		}
		b.expectDepth(work, 2, 0)
	})
}

func TestTooLargeAndUnroutableDoNotWait(t *testing.T) {
	bubble(t, Options{MaxBytes: 2000}, func(t *testing.T, b *bed) {
		// PaymentRefused is stored twice.
		err := b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "PaymentRefused", sized("m", 1001))
		if err == nil {
			t.Error("a message larger than the memory was stored")
		}
		if err := b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "PaymentRefused", sized("m", 1000)); err != nil {
			t.Error(err)
		}
		err = b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "Nobody", sized("m", 1000))
		if !errors.Is(err, messaging.ErrUnroutable) {
			t.Errorf("got %v, want ErrUnroutable at once", err)
		}
	})
}

// Dead-lettering must not wait for the room that only it can make.
func TestDeadLetteringNeedsNoRoom(t *testing.T) {
	bubble(t, Options{MaxBytes: 2000}, func(t *testing.T, b *bed) {
		for i := range 2 {
			if err := b.conn.Publish(t.Context(), messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, work), sized(fmt.Sprint(i), 1000)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(delay)
		synctest.Wait()
		b.expectDepth(work, 2, 0)
	})
}

// Whatever becomes of messages, none leaves its weight behind.
func TestNoRoomIsLost(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		b.publish(messagingtest.Shop().EventsExchange(), "PaymentRefused", "1", "2", "3")
		b.publish(messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, work), "4")
		time.Sleep(delay)
		synctest.Wait()
		remove := func(context.Context, messaging.Message) (bool, error) { return true, nil }
		for _, queue := range b.server.Queues() {
			if err := b.conn.Browse(t.Context(), queue, remove); err != nil {
				t.Fatal(err)
			}
		}
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		if b.server.bytes != 0 {
			t.Errorf("%d bytes are taken by nothing", b.server.bytes)
		}
	})
}
