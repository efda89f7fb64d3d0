package testserver

import (
	"context"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestRabbitMQKeepsConfirmedMessagesOverKillAndStop(t *testing.T) {
	t.Parallel()
	r := RabbitMQ(t)
	url := r.VHost(t, "a/b c")

	publish(t, url, "first")
	r.Kill(t)
	if _, err := amqp.Dial(url); err == nil {
		t.Fatal("a killed server accepts connections")
	}
	r.Start(t)

	publish(t, url, "second")
	r.Stop(t)
	r.Start(t)

	if got := drain(t, url); strings.Join(got, " ") != "first second" {
		t.Fatalf("after a kill and a stop the queue holds %q", got)
	}
}

func TestRabbitMQVHostIsEmptyEachTime(t *testing.T) {
	t.Parallel()
	r := SharedRabbitMQ(t)
	publish(t, r.VHost(t, "again"), "old")
	if got := drain(t, r.VHost(t, "again")); len(got) != 0 {
		t.Fatalf("a new vhost holds %q", got)
	}
}

func TestRabbitMQCtl(t *testing.T) {
	t.Parallel()
	r := SharedRabbitMQ(t)
	r.VHost(t, "seen-by-ctl")
	if out := r.Ctl(t, "-q", "list_vhosts"); !strings.Contains(out, "seen-by-ctl") {
		t.Fatalf("rabbitmqctl list_vhosts: %s", out)
	}
}

func TestRabbitMQStartTwiceIsAnError(t *testing.T) {
	t.Parallel()
	r := SharedRabbitMQ(t)
	if err := r.boot(t.Context()); err == nil {
		t.Fatal("a running server was started again")
	}
}

func publish(t *testing.T, url, body string) {
	t.Helper()
	withQueue(t, url, func(ctx context.Context, ch *amqp.Channel, queue string) {
		check(t, ch.Confirm(false))
		confirm, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(body)})
		check(t, err)
		if ok, err := confirm.WaitContext(ctx); !ok || err != nil {
			t.Fatalf("publish: confirmed %t, %v", ok, err)
		}
	})
}

// drain takes all messages that the queue holds.
func drain(t *testing.T, url string) (bodies []string) {
	t.Helper()
	withQueue(t, url, func(_ context.Context, ch *amqp.Channel, queue string) {
		for {
			d, ok, err := ch.Get(queue, true)
			check(t, err)
			if !ok {
				return
			}
			bodies = append(bodies, string(d.Body))
		}
	})
	return bodies
}

func withQueue(t *testing.T, url string, do func(context.Context, *amqp.Channel, string)) {
	t.Helper()
	conn, err := amqp.Dial(url)
	check(t, err)
	defer func() { check(t, conn.Close()) }()
	ch, err := conn.Channel()
	check(t, err)
	q, err := ch.QueueDeclare("kept", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	check(t, err)
	do(t.Context(), ch, q.Name)
}
