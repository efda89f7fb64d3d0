package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// A returned message is acknowledged like a stored one. Each pair here shares
// exchange and id, so only the key tells which of them was returned.
func TestUnroutableAmongRoutable(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{PublishWindow: 16})
	var running sync.WaitGroup
	const pairs = 32 // 64 publishers
	for i := range pairs {
		for _, routable := range []bool{true, false} {
			running.Go(func() {
				for n := range 20 {
					m := message(fmt.Sprintf("%d-%d", i, n))
					k := key
					if !routable {
						k = "Nobody"
					}
					err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), k, m)
					if routable && err != nil || !routable && !errors.Is(err, messaging.ErrUnroutable) {
						f.Errorf("publish %s with key %s: %v", m.ID, k, err)
					}
				}
			})
		}
	}
	running.Wait()
	f.ready(f.channel(), pairs*20)
}

// The same message, by many at once, while its queue is unbound and bound again:
// whatever is reported stored must be stored.
func TestReturnsNeverPassForStored(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	channel := f.channel()
	var mu sync.Mutex
	stored, unroutable := 0, 0
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, message("same"))
				mu.Lock()
				switch {
				case err == nil:
					stored++
				case errors.Is(err, messaging.ErrUnroutable):
					unroutable++
				default:
					f.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	for range 50 {
		if err := channel.QueueUnbind(queue, key, messagingtest.Shop().EventsExchange(), nil); err != nil {
			f.Fatal(err)
		}
		if err := channel.QueueBind(queue, key, messagingtest.Shop().EventsExchange(), false, nil); err != nil {
			f.Fatal(err)
		}
	}
	close(stop)
	running.Wait()
	q, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		f.Fatal(err)
	}
	// More may be stored than was reported: a return fails every attempt that it fits.
	if q.Messages < stored {
		f.Errorf("%d were reported stored, %d are", stored, q.Messages)
	}
	if stored == 0 || unroutable == 0 {
		f.Errorf("%d stored and %d unroutable: this tested nothing", stored, unroutable)
	}
}

func TestMissingExchangeIsNamed(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	err := b.Publish(f.ctx, "shop.nowhere", key, message("lost"))
	if err == nil || errors.Is(err, messaging.ErrUnroutable) || !strings.Contains(err.Error(), "no exchange 'shop.nowhere'") {
		f.Errorf("got %v", err)
	}
	f.publish(b, "next")
}

// A publish whose caller gave up is still outstanding: it keeps its place in the
// window until the broker has spoken.
func TestAbandonedPublishKeepsItsPlace(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	p := newProxy(t, f.url)
	b := open(t, p.url, rabbitmq.Options{PublishWindow: 2})
	f.publish(b, "first")
	p.freeze()
	for _, want := range []string{"broker's confirm", "broker's confirm", "earlier confirms"} {
		ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
		err := b.Publish(ctx, messagingtest.Shop().EventsExchange(), key, message("abandoned"))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			f.Errorf("got %v, want the deadline while waiting for the %s", err, want)
		}
	}
	p.thaw()
	f.publish(b, "last")
	f.ready(f.channel(), 4) // and what was abandoned was stored after all
}

func TestMissingExchangeIsDeclaredAgain(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	if err := f.channel().ExchangeDelete(messagingtest.Shop().EventsExchange(), false, false); err != nil {
		f.Fatal(err)
	}
	f.insist(b, "m")
	f.ready(f.channel(), 1)
}
