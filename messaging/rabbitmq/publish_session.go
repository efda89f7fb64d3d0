package rabbitmq

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

var (
	errNotWritten = errors.New("not written")
	errGaveUp     = errors.New("gave up waiting")
)

// publishSession is one channel in confirm mode. One goroutine, in serve, owns
// all writing to it, so that callers never wait for the socket.
type publishSession struct {
	conn     *connection
	channel  *amqp.Channel
	attempts chan *attempt
	closed   chan *amqp.Error
	lost     chan struct{} // closes after reason is set
	reason   error

	mu       sync.Mutex
	returns  chan amqp.Return // the client puts a return here before it resolves the confirm
	inFlight map[address][]*attempt
}

// attempt is one writing of one message.
type attempt struct {
	exchange, key string
	message       amqp.Publishing
	written       chan struct{} // closes once the next two are set
	err           error
	confirm       *amqp.DeferredConfirmation
	returned      string // why the broker returned it; guarded by the session's mu
}

// address is all that a return tells about which message it is.
type address struct{ id, exchange, key string }

func (a *attempt) address() address { return address{a.message.MessageId, a.exchange, a.key} }

// newPublishSession opens a session for up to window unresolved attempts.
func newPublishSession(conn *connection, window int) (*publishSession, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	s := &publishSession{
		conn: conn, channel: channel,
		attempts: make(chan *attempt), lost: make(chan struct{}),
		closed: channel.NotifyClose(make(chan *amqp.Error, 1)),
		// With less room the client would wait, then drop a return.
		returns:  channel.NotifyReturn(make(chan amqp.Return, window)),
		inFlight: make(map[address][]*attempt),
	}
	if err := channel.Confirm(false); err != nil {
		conn.closeChannel(channel)
		return nil, fmt.Errorf("switch confirms on: %w", err)
	}
	return s, nil
}

// serve writes attempts until the channel is lost, and says why it was.
func (s *publishSession) serve() error {
	for {
		select {
		case a := <-s.attempts:
			s.write(a)
		case err := <-s.closed:
			s.reason = lossOf(err)
			close(s.lost)
			return s.reason
		}
	}
}

func (s *publishSession) write(a *attempt) {
	s.mu.Lock()
	s.inFlight[a.address()] = append(s.inFlight[a.address()], a)
	s.mu.Unlock()
	a.confirm, a.err = s.channel.PublishWithDeferredConfirm(a.exchange, a.key, true, false, a.message)
	close(a.written)
}

// wait is the outcome of an attempt that serve has taken, or errGaveUp once
// gaveUp closes; errNotWritten if nothing reached the broker.
func (s *publishSession) wait(gaveUp <-chan struct{}, a *attempt) error {
	select {
	case <-a.written:
	case <-gaveUp:
		return errGaveUp
	}
	if a.err != nil {
		s.settle(a)
		if errors.Is(a.err, amqp.ErrClosed) {
			return errNotWritten
		}
		return fmt.Errorf("it is unknown whether the message was stored: %w", a.err)
	}
	select {
	case <-a.confirm.Done():
	case <-gaveUp:
		return errGaveUp
	}
	reason := s.settle(a)
	switch {
	case reason != "":
		return fmt.Errorf("%w: %s", messaging.ErrUnroutable, reason)
	case a.confirm.Acked():
		return nil
	case s.channel.IsClosed():
		select {
		case <-s.lost:
		case <-gaveUp:
			return errGaveUp
		}
		return fmt.Errorf("it is unknown whether the message was stored: %w", s.reason)
	}
	return errNacked
}

// settle ends an attempt and says why it was returned, if it was. A return is in
// the buffer before its confirm resolves, so whoever saw a confirm finds it
// here; one that fits several attempts fails them all, for they cannot be told
// apart and none of them may pass for stored.
func (s *publishSession) settle(a *attempt) (returned string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		select {
		case r, ok := <-s.returns:
			if ok {
				for _, other := range s.inFlight[address{r.MessageId, r.Exchange, r.RoutingKey}] {
					other.returned = fmt.Sprintf("%d %s", r.ReplyCode, r.ReplyText)
				}
				continue
			}
		default:
		}
		break
	}
	rest := slices.DeleteFunc(s.inFlight[a.address()], func(other *attempt) bool { return other == a })
	if len(rest) == 0 {
		delete(s.inFlight, a.address())
	} else {
		s.inFlight[a.address()] = rest
	}
	return a.returned
}
