package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// connection is one connection from dialling to its end.
type connection struct {
	*amqp.Connection
	socket   net.Conn
	patience time.Duration
	// blocked is the broker's word that it does not read what we publish.
	blocked      watched[blocking]
	topologyLock chan struct{} // holds the one who declares the topology
	// declared is which generation of the topology is there; incomplete has it
	// declared again before the next use, because an object of it was missing.
	declared   atomic.Int64
	incomplete atomic.Bool
}

// blocking is what the broker says about reading, and since when.
type blocking struct {
	amqp.Blocking
	since time.Time
}

// atBroker is what the broker adds to the headers of a message when it is
// dead-lettered, and again when it is parked: what was taken must fit into a
// frame when it is delivered, too.
const atBroker = 1 << 10

// maxHeader is how large the frame with a message's headers may be.
func (c *connection) maxHeader() int {
	if size := c.Config.FrameSize; size > 0 {
		return size - atBroker
	}
	return math.MaxInt
}

func (c *connection) lockTopology(ctx context.Context) error {
	select {
	case c.topologyLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

func (c *connection) unlockTopology() { <-c.topologyLock }

// dial connects until ctx ends.
func dial(ctx context.Context, url, name string, opts Options) (*connection, error) {
	c := &connection{patience: opts.Patience, topologyLock: make(chan struct{}, 1)}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	uncancel := func() bool { return true }
	conn, err := amqp.DialConfig(url, amqp.Config{
		Heartbeat:  opts.Heartbeat,
		FrameSize:  opts.FrameSize,
		Properties: properties,
		Dial: func(network, addr string) (net.Conn, error) {
			deadline := time.Now().Add(opts.DialTimeout)
			dialer := net.Dialer{Deadline: deadline}
			raw, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c.socket = &socket{Conn: raw, patience: 3 * opts.Heartbeat}
			uncancel = context.AfterFunc(ctx, c.cut)
			return c.socket, raw.SetDeadline(deadline) // until the handshake is over
		},
	})
	uncancel()
	if err != nil {
		if c.socket != nil {
			c.cut() // a failed handshake leaves it open
		}
		return nil, err
	}
	c.Connection = conn
	return c, nil
}

// watch follows the connection to its end, and says why it ended; nil if we closed it.
func (c *connection) watch() error {
	closes := c.NotifyClose(make(chan *amqp.Error, 1))
	blocks := c.NotifyBlocked(make(chan amqp.Blocking, 16))
	var reason error
	for {
		select {
		case b, ok := <-blocks:
			if !ok {
				blocks = nil
				continue
			}
			c.blocked.set(blocking{b, time.Now()})
		case err, ok := <-closes:
			if !ok {
				return reason
			}
			reason = err
			// The client still waits for its stuck writers before it closes the socket.
			c.cut()
		}
	}
}

// close ends the connection in good order, or cuts it when ctx ends, patience
// does, or an alarm keeps the broker from reading.
func (c *connection) close(ctx context.Context) {
	if blocked, _ := c.blocked.get(); blocked.Active || ctx.Err() != nil {
		c.cut()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	stop := context.AfterFunc(ctx, c.cut)
	defer stop()
	_ = c.Close() // nothing is left on it that could be lost
}

// bounded runs an orderly end that waits for the broker's answer. If none
// comes, it cuts the connection: nothing else makes sure that the broker takes
// back what is unsettled.
func (c *connection) bounded(end func()) {
	timer := time.AfterFunc(c.patience, c.cut)
	defer timer.Stop()
	end()
}

func (c *connection) closeChannel(ch *amqp.Channel) {
	c.bounded(func() { _ = ch.Close() }) // an error means that it is gone already
}

// blame is err, or that there is no connection any more, if that is why.
func (c *connection) blame(err error) error {
	if err != nil && c.IsClosed() {
		return fmt.Errorf("%w: %w", errNoConnection, err)
	}
	return err
}

// errNoConnection is what the link deals with, and says.
var errNoConnection = errors.New("the connection is lost")

// cut ends the connection without a word.
func (c *connection) cut() { _ = c.socket.Close() }

// socket gives up a write that the peer does not take: the client cannot notice
// a hung peer while a stuck write holds its locks.
type socket struct {
	net.Conn
	patience time.Duration
}

func (s *socket) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}
