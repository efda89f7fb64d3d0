package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

const (
	// probeAfter is how long a confirm vouches for the right to publish.
	probeAfter = 10 * time.Second
	// probeAgain is how soon a refused probe is made again.
	probeAgain = time.Second
)

// probe has the broker asked whether it takes what we publish, if somebody
// wants to know and traffic does not tell.
func (b *Broker) probe() {
	if b.opts.Probe.Key == "" || !b.publisher.probeDue() {
		return
	}
	ctx, leave, err := b.enter(context.Background())
	if err != nil {
		return
	}
	b.tasks.Go(func() {
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, b.opts.Patience)
		defer cancel()
		b.publisher.probe(ctx, b.opts.Probe)
	})
}

// probeDue reports whether to probe now, to one of those who ask.
func (p *publisher) probeDue() bool {
	o, now := &p.outcomes, time.Now().UnixNano()
	wait := probeAfter
	if o.probe.Err() != nil {
		wait = probeAgain
	}
	probed := o.probed.Load()
	return now-max(o.confirmed.Load(), probed) >= int64(wait) && o.probed.CompareAndSwap(probed, now)
}

// probe publishes a message that no queue gets. It has a connection of its own:
// under an alarm the broker stops reading one that publishes, and what is in
// flight on the others must not suffer from a question. That no connection can
// be had says nothing about publishing.
//
// It goes to the exchange of retries with a key that has no queue. On the exchange
// of events there is none that a service may use: a right that is taken away only
// there shows with the next event.
func (p *publisher) probe(ctx context.Context, with messaging.Probe) {
	conn, err := dial(ctx, p.link.url, p.link.name+" probe", p.opts)
	if err != nil {
		return
	}
	blocks := conn.NotifyBlocked(make(chan amqp.Blocking, 16))
	err = p.probeOn(ctx, conn, blocks, with)
	switch {
	case err == nil:
		p.works(ctx)
		conn.close(ctx)
		return
	case !errors.Is(err, errNoChannel):
		p.outcomes.probe.Failed(publishError(target{with.Exchange, with.Key}, err))
	}
	conn.cut()
}

var errNoChannel = errors.New("open a channel")

func (p *publisher) probeOn(ctx context.Context, conn *connection, blocks <-chan amqp.Blocking, with messaging.Probe) error {
	channel, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoChannel, err)
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	channel.NotifyReturn(make(chan amqp.Return, 1))
	confirm, err := await(ctx, p.tasks, func() (*amqp.DeferredConfirmation, error) {
		if err := channel.Confirm(false); err != nil {
			return nil, err
		}
		// Under an alarm the broker stops reading after the header of a message: one
		// without a body is complete by then, and would be confirmed.
		return channel.PublishWithDeferredConfirm(with.Exchange, with.Key, true, false, amqp.Publishing{Body: []byte("?")})
	}, func(*amqp.DeferredConfirmation) {})
	if err != nil {
		return err
	}
	select {
	case <-confirm.Done():
	case b := <-blocks:
		return blockedFor(b)
	case <-ctx.Done():
		return fmt.Errorf("%w (waiting for the broker's confirm)", ended(ctx))
	}
	select {
	case b := <-blocks: // came first, and both were there
		return blockedFor(b)
	default:
	}
	if confirm.Acked() {
		return nil
	}
	select {
	case err := <-closed:
		return lossOf(err)
	default:
		return errNacked
	}
}

func blockedFor(b amqp.Blocking) error {
	return fmt.Errorf("the broker blocks publishing: %s", b.Reason)
}

// publishError says what could not be published.
func publishError(to target, err error) error {
	return fmt.Errorf("publish to %q with key %q: %w", to.exchange, to.key, err)
}
