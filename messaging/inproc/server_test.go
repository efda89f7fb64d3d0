package inproc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
)

func TestExpiryIsExactAndInOrder(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		wait := messagingtest.Shop().WaitQueue(messagingtest.Stock, delay)
		key := messaging.RetryKey(delay, work)
		b.publish(messagingtest.Shop().RetryExchange(), key, "1", "2")
		time.Sleep(delay / 2)
		b.publish(messagingtest.Shop().RetryExchange(), key, "3")
		time.Sleep(delay/2 - time.Nanosecond)
		b.expectDepth(wait, 3, 0)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		b.expectDepth(wait, 1, 0)
		time.Sleep(delay / 2)
		synctest.Wait()
		b.expectDepth(wait, 0, 0)
		var order []string
		for _, m := range b.contents() {
			order = append(order, m.ID)
		}
		if !slices.Equal(order, []string{"1", "2", "3"}) {
			t.Errorf("returned in order %v", order)
		}
	})
}

func TestOutageStopsExpiryUntilStart(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		b.publish(messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, work), "1")
		b.server.Stop()
		b.server.Stop() // twice is once
		time.Sleep(2 * delay)
		synctest.Wait()
		b.expectDepth(work, 0, 0)
		if b.conn.Ready() == nil {
			t.Error("ready while stopped")
		}
		b.server.Start()
		b.server.Start()
		b.expectDepth(work, 1, 0)
		if err := b.conn.Ready(); err != nil {
			t.Errorf("not ready after the start: %v", err)
		}
	})
}

// What a browser looks at does not expire; it does when it comes back too late.
func TestHeldMessagesExpireOnReturn(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		wait := messagingtest.Shop().WaitQueue(messagingtest.Stock, delay)
		b.publish(messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, work), "1")
		err := b.conn.Browse(t.Context(), wait, func(context.Context, messaging.Message) (bool, error) {
			time.Sleep(2 * delay)
			b.expectDepth(wait, 0, 1)
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b.expectDepth(wait, 0, 0)
		b.expectDepth(work, 1, 0)
	})
}

func TestDeathsAreCountedPerQueueAndReason(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		m := messaging.Message{ID: "m"}
		for range 3 {
			if err := b.conn.Publish(t.Context(), messagingtest.Shop().RetryExchange(), messaging.RetryKey(delay, work), m); err != nil {
				t.Fatal(err)
			}
			time.Sleep(delay)
			synctest.Wait()
			m = b.contents()[0]
			if err := b.conn.Browse(t.Context(), work, func(context.Context, messaging.Message) (bool, error) { return true, nil }); err != nil {
				t.Fatal(err)
			}
		}
		deaths := m.Headers["x-death"].([]any)
		first := deaths[0].(map[string]any)
		if len(deaths) != 1 || first["count"] != int64(3) || first["exchange"] != messagingtest.Shop().RetryExchange() {
			t.Errorf("x-death is %v", deaths)
		}
		if !first["time"].(time.Time).Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("it died at %v", first["time"])
		}
	})
}

// A message that can be dead-lettered nowhere stays until it can.
func TestDeadLettersWaitForTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := New(Options{})
		c := server.Connect("test")
		b := &bed{T: t, server: server, conn: c}
		defer b.close(c)
		declare := func(topology messaging.Topology) {
			t.Helper()
			if err := c.Declare(t.Context(), topology, messaging.TopologyDeclare); err != nil {
				t.Fatal(err)
			}
		}
		declare(messaging.Topology{
			Exchanges: []string{"x"},
			Queues:    []messaging.Queue{{Name: "wait", TTL: delay, DeadLetterExchange: "later"}, {Name: "void", TTL: delay}},
			Bindings:  []messaging.Binding{{Exchange: "x", Key: "k", Queue: "wait"}, {Exchange: "x", Key: "k", Queue: "void"}},
		})
		b.publish("x", "k", "1")
		time.Sleep(delay)
		synctest.Wait()
		b.expectDepth("wait", 1, 0)
		b.expectDepth("void", 0, 0) // without a dead-letter exchange it is dropped
		declare(messaging.Topology{
			Exchanges: []string{"later"}, Queues: []messaging.Queue{{Name: "q"}},
			Bindings: []messaging.Binding{{Exchange: "later", Key: "k", Queue: "q"}},
		})
		b.expectDepth("wait", 0, 0)
		b.expectDepth("q", 1, 0)
		if got := server.Queues(); !slices.Equal(got, []string{"q", "void", "wait"}) {
			t.Errorf("queues are %v", got)
		}
	})
}

func TestDeclareRefusesWhole(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		queues := b.server.Queues()
		for name, topology := range map[string]messaging.Topology{
			"no-such-queue":    {Exchanges: []string{"x"}, Bindings: []messaging.Binding{{Exchange: "x", Key: "k", Queue: "no-such-queue"}}},
			"no-such-exchange": {Queues: []messaging.Queue{{Name: "q"}}, Bindings: []messaging.Binding{{Exchange: "no-such-exchange", Key: "k", Queue: "q"}}},
			"twice":            {Queues: []messaging.Queue{{Name: "twice"}, {Name: "twice", TTL: delay}}},
			"backwards":        {Queues: []messaging.Queue{{Name: "q"}, {Name: "backwards", TTL: -1}}},
		} {
			err := b.conn.Declare(t.Context(), topology, messaging.TopologyDeclare)
			if !errors.Is(err, messaging.ErrTopology) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want ErrTopology that names it", name, err)
			}
		}
		if got := b.server.Queues(); !slices.Equal(got, queues) {
			t.Errorf("a refused topology left %v", got)
		}
	})
}

func TestHeadersThatCannotTravel(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, b *bed) {
		for _, v := range []any{struct{}{}, []string{"a"}, new(int), uint64(1), []any{[]any{make(chan int)}}, map[string]any{"k": func() {}}} {
			m := messaging.Message{Headers: map[string]any{"bad": v}}
			err := b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", m)
			if err == nil || !strings.Contains(err.Error(), `"bad"`) {
				t.Errorf("%T: %v, want an error that names the header", v, err)
			}
		}
		inner := []any{"a", map[string]any{"b": []byte("c")}}
		m := messaging.Message{Headers: map[string]any{"nested": inner}}
		if err := b.conn.Publish(t.Context(), messagingtest.Shop().EventsExchange(), "OrderPlaced", m); err != nil {
			t.Fatal(err)
		}
		for range 2 { // neither the sender nor a reader reaches the stored message
			inner[1].(map[string]any)["b"].([]byte)[0] = '!'
			got := b.contents()[0].Headers["nested"].([]any)
			if fmt.Sprint(got) != fmt.Sprint([]any{"a", map[string]any{"b": []byte("c")}}) {
				t.Errorf("got %v", got)
			}
			inner = got
		}
	})
}
