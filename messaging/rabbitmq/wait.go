package rabbitmq

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// watched is a value whose changes can be waited for.
type watched[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{}
}

// get is the value now, and a channel that closes when it is set again.
func (w *watched[T]) get() (T, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.value, w.changed
}

func (w *watched[T]) set(value T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.value = value
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// await runs fn, which no context can interrupt, and returns without it when
// ctx ends. What fn then makes too late goes to undo.
func await[T any](ctx context.Context, tasks *sync.WaitGroup, fn func() (T, error), undo func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results, abandoned := make(chan result), make(chan struct{})
	tasks.Go(func() {
		value, err := fn()
		select {
		case results <- result{value, err}:
		case <-abandoned:
			if err == nil {
				undo(value)
			}
		}
	})
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		close(abandoned)
		var none T
		return none, ended(ctx)
	}
}

// sleep is false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o Options) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = o.MinBackoff, o.MaxBackoff, 2
	return b
}

func (b *Broker) newBackoff() *backoff.ExponentialBackOff { return b.opts.newBackoff() }
