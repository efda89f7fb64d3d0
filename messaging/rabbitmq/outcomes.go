package rabbitmq

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// outcomes remember what the broker did not take, until it takes it. After such
// a refusal there is a fresh channel at once, which looks as good as any.
type outcomes struct {
	refused   streak.Book[target]
	probe     streak.Streak
	confirmed atomic.Int64 // when the last publish was, in ns
	probed    atomic.Int64 // when the last probe began
}

// target is where messages go.
type target struct{ exchange, key string }

// errNacked is the broker's own refusal.
var errNacked = errors.New("the broker refused to store the message in every queue")

// ended remembers the outcome of an attempt.
func (p *publisher) ended(ctx context.Context, a *attempt, err error) {
	to := target{a.exchange, a.key}
	switch {
	case err == nil:
		now := time.Now().UnixNano()
		p.outcomes.confirmed.Store(now)
		p.progress.Store(now)
		p.outcomes.refused.Worked(to)
		p.works(ctx)
	case errors.Is(err, messaging.ErrUnroutable), errors.Is(err, errNacked),
		refusal(err, amqp.AccessRefused, amqp.NotFound, amqp.PreconditionFailed):
		p.outcomes.refused.Failed(to, publishError(to, err))
	}
}

// works is told when the broker took something. Publishing is interrupted for as
// long as it refuses something else: each refusal ends the channel of all.
func (p *publisher) works(ctx context.Context) {
	p.outcomes.probe.Worked()
	if p.outcomes.refused.Err() != nil {
		return
	}
	if r, over := p.failing.Worked(); over {
		p.log.InfoContext(ctx, "publishing again", "tries", r.Tries, "after", r.Lasted())
	}
}

// refused is the oldest refusal that still stands, or nil.
func (p *publisher) refused() error {
	if err := p.outcomes.refused.Err(); err != nil {
		return err
	}
	return p.outcomes.probe.Err()
}
