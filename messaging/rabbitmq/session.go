package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

var (
	errLost      = errors.New("the session that delivered the message is lost; it will be delivered again")
	errSettled   = errors.New("the delivery is settled already")
	errDropped   = errors.New("the session was dropped on purpose")
	errCancelled = errors.New("the broker cancelled the consumer: its queue was deleted or lost its leader, or a delivery was held for too long")
)

// session is one channel of a consumer, from subscribing to its loss.
type session struct {
	*consumer
	conn       *connection
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
	closed     chan *amqp.Error

	ctx     context.Context //nolint:containedctx // the handlers', which ends with the session
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // handlers

	// settling is held for reading by whoever writes an ack, so that none is
	// written once the channel's number may belong to another channel.
	settling sync.RWMutex
	ended    bool
}

// serve runs a handler for each delivery until the session is lost, or until
// open ends: then it takes no more and lets the running handlers finish.
func (s *session) serve(open context.Context) (err error) {
	defer func() { s.end(cmp.Or(err, errLost)) }()
	for {
		select {
		case <-s.ctx.Done():
			if s.dropped() {
				return errDropped
			}
			s.finish()
			return nil
		case <-open.Done():
			s.finish()
			return nil
		case d, ok := <-s.deliveries:
			if !ok {
				return s.loss()
			}
			if open.Err() == nil {
				s.start(&d)
			}
		}
	}
}

func (s *session) start(d *amqp.Delivery) {
	s.handlers.Add(1)
	s.running.Go(func() {
		defer s.handlers.Done()
		s.sub.Handle(s.ctx, &messaging.Delivery{
			Message: received(d), Queue: s.sub.Queue, Exchange: d.Exchange, Key: d.RoutingKey,
			Count: timesReturned(d), Settler: &settler{session: s, delivery: d},
		})
	})
}

// finish takes no more and waits for the running handlers, unless the session is lost.
func (s *session) finish() {
	if s.ctx.Err() == nil {
		s.conn.bounded(func() { _ = s.channel.Cancel(consumerTag, false) }) // the channel is closed next
	}
	idle := make(chan struct{})
	s.tasks.Go(func() {
		s.running.Wait()
		close(idle)
	})
	select {
	case <-idle:
	case err := <-s.closed:
		s.cancel(lossOf(err))
	case <-s.ctx.Done():
		if !s.dropped() {
			<-idle
		}
	}
}

// end gives back what is unsettled, and tells the handlers why.
func (s *session) end(reason error) {
	s.cancel(reason)
	s.conn.bounded(func() {
		s.refuseAcks()
		_ = s.channel.Close() // an error means that it is gone already
	})
}

func (s *session) refuseAcks() {
	s.settling.Lock()
	defer s.settling.Unlock()
	s.ended = true
}

func (s *session) dropped() bool { return errors.Is(context.Cause(s.ctx), errDropped) }

// loss is why the broker stopped delivering.
func (s *session) loss() error {
	if !s.channel.IsClosed() {
		s.conn.incomplete.Store(true)
		// Since 4.3 this is also how the broker takes back what was held for too long.
		return &messaging.HoldTimeoutError{Err: errCancelled}
	}
	return lossOf(<-s.closed)
}

// lossOf is the loss that a channel's NotifyClose told, nil if it just closed.
func lossOf(err *amqp.Error) error {
	if err == nil {
		return errors.New("the channel was closed")
	}
	lost := fmt.Errorf("the channel was lost: %w", err)
	if refusal(err, amqp.PreconditionFailed) && strings.Contains(err.Reason, "delivery acknowledgement on channel") {
		return &messaging.HoldTimeoutError{Limit: consumerTimeout(err.Reason), Err: lost}
	}
	return lost
}

// consumerTimeout is the limit that the broker tells when it closes a channel
// on which a delivery was held for too long; 0 if it does not.
func consumerTimeout(reason string) time.Duration {
	_, rest, _ := strings.Cut(reason, "Timeout value used: ")
	number, _, _ := strings.Cut(rest, " ms")
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || ms < 0 {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// settler settles one delivery, on the channel that it came from.
type settler struct {
	session  *session
	delivery *amqp.Delivery
	settled  atomic.Bool
}

// Ack implements [messaging.Settler]. The broker closes a channel on which one
// delivery is acknowledged twice, so the second time is an error here.
func (s *settler) Ack() error {
	s.session.settling.RLock()
	defer s.session.settling.RUnlock()
	if s.session.ended {
		return errLost
	}
	if s.settled.Swap(true) {
		return errSettled
	}
	if err := s.delivery.Ack(false); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return nil
}

// Lose implements [messaging.Settler].
func (s *settler) Lose() {
	s.session.refuseAcks()
	s.session.cancel(errDropped)
}
