package rabbitmq

import (
	"context"
	"fmt"

	"boxoffice/messaging"
)

// Close implements [messaging.Broker]. It is an error if calls were still
// running, or publishes unconfirmed, when ctx ended: their fate is unknown.
// Closing again waits for the first Close and returns what it did.
func (b *Broker) Close(ctx context.Context) error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if !first {
		return b.awaitClose(ctx)
	}
	b.startClose()
	b.err = b.close(ctx)
	close(b.done)
	return b.err
}

// awaitClose is Close for who is not the first.
func (b *Broker) awaitClose(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
	}
	select {
	case <-b.done: // both at once is a good end
		return b.err
	default:
		return fmt.Errorf("close the broker connection: %w", ctx.Err())
	}
}

func (b *Broker) close(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { // ends with the last call; a handler that never returns is the caller's
		b.calls.Wait()
		close(idle)
	}()
	err := b.finish(ctx, idle)
	b.publishing.close(ctx)
	b.consuming.close(ctx)
	if err == nil {
		b.tasks.Wait()
		return nil
	}
	// Calls end now, for their connections are gone; all but stuck handlers.
	timer, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.opts.Patience)
	defer cancel()
	select {
	case <-idle:
		b.tasks.Wait()
	case <-timer.Done():
		b.log.WarnContext(ctx, "handlers are still running after the broker connection was closed")
	}
	return err
}

// finish waits for the calls, and for the confirms of those that gave up waiting.
func (b *Broker) finish(ctx context.Context, idle <-chan struct{}) error {
	select {
	case <-idle:
	case <-ctx.Done():
		select {
		case <-idle:
		default:
			return fmt.Errorf("close the broker connection: calls are still running: %w", ctx.Err())
		}
	}
	if n := b.publisher.drain(ctx); n > 0 {
		return fmt.Errorf("close the broker connection: %d publishes are unconfirmed: %w", n, ctx.Err())
	}
	return nil
}

// ended is why ctx ended: the Broker's Close, or its own reason.
func ended(ctx context.Context) error {
	if context.Cause(ctx) == messaging.ErrClosed { //nolint:errorlint // set by enter, unwrapped
		return messaging.ErrClosed
	}
	return ctx.Err()
}
