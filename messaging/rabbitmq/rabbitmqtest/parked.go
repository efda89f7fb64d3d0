package rabbitmqtest

import (
	"context"
	"errors"
	"fmt"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// Park parks n messages, and returns their ids.
func (f *Fixture) Park(b *rabbitmq.Broker, n int) (ids []string) {
	f.Helper()
	for i := range n {
		id := fmt.Sprintf("m%04d", i)
		if err := b.Publish(f.Ctx, messagingtest.Shop().DeadExchange(), WorkQueue, Message(id)); err != nil {
			f.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Contents looks at all messages of a queue.
func (f *Fixture) Contents(b *rabbitmq.Broker, queue string) (ids []string) {
	f.Helper()
	err := b.Browse(f.Ctx, queue, func(_ context.Context, m messaging.Message) (bool, error) {
		ids = append(ids, m.ID)
		return false, nil
	})
	if err != nil && !errors.Is(err, messaging.ErrHeld) {
		f.Fatal(err)
	}
	return ids
}
