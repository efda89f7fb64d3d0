package messaging_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/baggage"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/messagingtest"
)

const (
	failedQueue = "billing.ItemReserved"
	parent      = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
)

// parking is a broker on which messages with these ids and headers are parked.
func parking(t *testing.T, headers map[string]any, ids ...string) messaging.Broker {
	t.Helper()
	conn := inproc.New(inproc.Options{}).Connect("operator")
	if err := conn.Declare(t.Context(), messagingtest.Topology([]time.Duration{time.Second}), messaging.TopologyDeclare); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := conn.Publish(t.Context(), messagingtest.Shop().DeadExchange(), failedQueue, messaging.Message{ID: id, Headers: headers}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func contents(t *testing.T, b messaging.Broker, queue string) (list []messaging.Message) {
	t.Helper()
	err := b.Browse(t.Context(), queue, func(_ context.Context, m messaging.Message) (bool, error) {
		list = append(list, m)
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(list []messaging.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

func all(messaging.DeadLetter) bool { return true }

// What Prepare takes off the baggage is gone from the message, with the header
// if nothing is left; the rest and the trace go on.
func TestPrepareChangesTheBaggage(t *testing.T) {
	without := func(member string) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context {
			return baggage.ContextWithBaggage(ctx, baggage.FromContext(ctx).DeleteMember(member))
		}
	}
	for name, test := range map[string]struct {
		prepare func(context.Context) context.Context
		want    string
	}{
		"kept":         {nil, "fault=x,tenant=red"},
		"one taken":    {without("fault"), "tenant=red"},
		"others taken": {func(ctx context.Context) context.Context { return without("fault")(without("tenant")(ctx)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := parking(t, map[string]any{"traceparent": parent, "baggage": "fault=x,tenant=red", "other": "stays"}, "m")
			d := messaging.NewDeadLetters(b, messagingtest.Shop(), "operator", messaging.Instruments{})
			d.Prepare = test.prepare
			if n, err := d.Redrive(t.Context(), failedQueue, all); n != 1 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			got := contents(t, b, failedQueue)[0]
			found, has := got.Headers["baggage"]
			members, err := baggage.Parse(got.Header("baggage"))
			want, _ := baggage.Parse(test.want)
			if err != nil || has != (test.want != "") || members.Len() != want.Len() || members.Member("tenant").Value() != want.Member("tenant").Value() {
				t.Errorf("its baggage is %v, want %q", found, test.want)
			}
			if got.Header("traceparent") != parent || got.Header("other") != "stays" {
				t.Errorf("its headers are %v", got.Headers)
			}
		})
	}
}

func TestBeforeEndsARun(t *testing.T) {
	enough := errors.New("enough")
	for name, run := range map[string]func(*messaging.DeadLetters, func(messaging.DeadLetter) bool) (int, error){
		"redrive": func(d *messaging.DeadLetters, match func(messaging.DeadLetter) bool) (int, error) {
			return d.Redrive(t.Context(), failedQueue, match)
		},
		"drop": func(d *messaging.DeadLetters, match func(messaging.DeadLetter) bool) (int, error) {
			return d.Drop(t.Context(), failedQueue, match)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := parking(t, nil, "1", "2", "3", "4", "5")
			d := messaging.NewDeadLetters(b, messagingtest.Shop(), "operator", messaging.Instruments{})
			var asked []string
			d.Before = func(_ context.Context, l messaging.DeadLetter) error {
				if asked = append(asked, l.Message.ID); len(asked) == 3 {
					return enough
				}
				return nil
			}
			n, err := run(d, func(l messaging.DeadLetter) bool { return l.Message.ID != "1" })
			if n != 2 || !errors.Is(err, enough) || !slices.Equal(asked, []string{"2", "3", "4"}) {
				t.Errorf("%d, %v after %v", n, err, asked)
			}
			if left := ids(contents(t, b, failedQueue+".dead")); !slices.Equal(left, []string{"1", "4", "5"}) {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// stuck is a broker that takes messages and confirms none.
type stuck struct{ messaging.Broker }

func (stuck) Publish(ctx context.Context, _, _ string, _ messaging.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestPublishingThatHangsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := parking(t, nil, "1", "2")
		d := messaging.NewDeadLetters(stuck{b}, messagingtest.Shop(), "operator", messaging.Instruments{})
		for _, timeout := range []time.Duration{0, time.Minute} {
			d.PublishTimeout = timeout
			began := time.Now()
			n, err := d.Redrive(t.Context(), failedQueue, all)
			if took := time.Since(began); n != 0 || !errors.Is(err, context.DeadlineExceeded) || took != max(timeout, 30*time.Second) {
				t.Errorf("%d, %v after %s", n, err, took)
			}
		}
		if left := ids(contents(t, b, failedQueue+".dead")); !slices.Equal(left, []string{"1", "2"}) {
			t.Errorf("%v are left", left)
		}
	})
}

// A message says less about itself when the broker parked it, or a stranger.
func TestListOfStrangers(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	b := parking(t, map[string]any{
		"traceparent": parent, "x-attempt": 2,
		"x-death": []any{map[string]any{"reason": "delivery_limit", "time": at}},
	}, "b1.ItemReserved", "b1.Other")
	if err := b.Publish(t.Context(), messagingtest.Shop().DeadExchange(), failedQueue, messaging.Message{Headers: map[string]any{"traceparent": "nonsense"}}); err != nil {
		t.Fatal(err)
	}
	var got []messaging.DeadLetter
	err := messaging.NewDeadLetters(b, messagingtest.Shop(), "operator", messaging.Instruments{}).List(t.Context(), failedQueue, func(l messaging.DeadLetter) error {
		l.Message = messaging.Message{}
		got = append(got, l)
		return nil
	})
	want := messaging.DeadLetter{
		Queue: failedQueue, Event: "ItemReserved", Key: "b1", Reason: "parked by the broker: delivery_limit",
		Attempts: 2, TraceID: parentTrace, ParkedAt: at,
	}
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, l := range []messaging.DeadLetter{want, func() messaging.DeadLetter { l := want; l.Key = ""; return l }(), {
		Queue: failedQueue, Event: "ItemReserved", Reason: "unknown", Attempts: 1,
	}} {
		if g := got[i]; g.Reason != l.Reason || g.Key != l.Key || g.TraceID != l.TraceID || g.Attempts != l.Attempts ||
			!g.ParkedAt.Equal(l.ParkedAt) || g.Queue != l.Queue || g.Event != l.Event || g.Service != "" {
			t.Errorf("got  %+v\nwant %+v", g, l)
		}
	}
}
