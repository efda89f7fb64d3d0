package inproc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// Conn is one service's connection to a [Server].
type Conn struct {
	server *Server
	name   string

	// closing ends the calls that take messages, cut those that are left.
	closing, cut lifetime

	// Guarded by server.mu.
	closed   bool
	calls    int           // that are running
	idle     chan struct{} // closed once no call runs and none can begin
	attached map[attachment]struct{}
	// detaching keeps one session that ends with the connection from handing its
	// messages to another that is about to end too.
	detaching bool

	consuming map[*consumption]struct{} // every Consume that runs
	refused   streak.Book[target]       // has a lock of its own
}

var _ messaging.Broker = (*Conn)(nil)

// attachment is what ends with a connection: a session or an observer.
type attachment interface {
	end() // with server.mu held
}

// lifetime is something that calls end with.
type lifetime struct {
	after func(f func()) (stop func() bool) // calls f once it has ended
	end   func()
}

func newLifetime() lifetime {
	ctx, end := context.WithCancel(context.Background())
	return lifetime{func(f func()) func() bool { return context.AfterFunc(ctx, f) }, end}
}

// Connect is a new connection; name appears in errors.
func (s *Server) Connect(name string) *Conn {
	c := &Conn{
		server: s, name: name,
		closing: newLifetime(), cut: newLifetime(),
		idle: make(chan struct{}), attached: map[attachment]struct{}{}, consuming: map[*consumption]struct{}{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	return c
}

// System implements [messaging.Broker].
func (c *Conn) System() string { return "inproc" }

// Ready implements [messaging.Broker].
func (c *Conn) Ready() error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.closed:
		return messaging.ErrClosed
	case !s.up:
		return streak.At(errors.New("the broker is stopped"), s.since)
	case s.waiting.Len() > 0:
		return streak.At(s.full(), s.waiting.Front().Value.(*waiter).since)
	case s.bytes >= s.maxBytes:
		return streak.At(s.full(), time.Now())
	}
	return c.refused.Err()
}

func (s *Server) full() error {
	return fmt.Errorf("the broker's memory is full: %d of %d bytes", s.bytes, s.maxBytes)
}

// Consuming implements [messaging.Broker].
func (c *Conn) Consuming() error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed {
		return messaging.ErrClosed
	}
	var oldest *consumption
	for each := range c.consuming {
		if !each.live && (oldest == nil || each.since.Before(oldest.since)) {
			oldest = each
		}
	}
	switch {
	case oldest == nil:
		return nil
	case !s.up:
		return streak.At(fmt.Errorf("%s is not consumed: the broker is stopped", oldest.queue), oldest.since)
	}
	return streak.At(fmt.Errorf("%s is not consumed: there is no such queue", oldest.queue), oldest.since)
}

// consumption is a Consume that runs. Guarded by the server's mu.
type consumption struct {
	queue string
	live  bool      // has a session
	since time.Time // when that changed
}

func (c *consumption) set(live bool) {
	if c.live != live {
		c.live, c.since = live, time.Now()
	}
}

// Drop loses the connection, as a crash or a cut cable would: every session
// ends, and every Consume and Observe subscribes again by itself.
func (c *Conn) Drop() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.detachAll()
}

// Kill is the death of the process that holds the connection: every session
// ends, running calls fail or return, and nothing comes back.
func (c *Conn) Kill() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.shut()
	c.cutOff()
}

// Close implements [messaging.Broker]. It waits for every running call, that
// is also for the handlers of its Consumes, until ctx ends.
func (c *Conn) Close(ctx context.Context) error {
	c.server.mu.Lock()
	c.shut()
	c.server.mu.Unlock()
	var err error
	select {
	case <-c.idle:
	case <-ctx.Done():
		select {
		case <-c.idle: // both at once is a good end
		default:
			err = fmt.Errorf("close the connection of %s: calls are still running: %w", c.name, ctx.Err())
		}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.cutOff()
	return err
}

// enter begins a call, which ends with ctx or with until. The caller calls leave.
func (c *Conn) enter(ctx context.Context, until lifetime) (_ context.Context, leave func(), _ error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.closed {
		return nil, nil, messaging.ErrClosed
	}
	c.calls++
	ctx, cancel := context.WithCancelCause(ctx)
	stop := until.after(func() { cancel(messaging.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		c.calls--
		if c.closed && c.calls == 0 {
			close(c.idle)
		}
	}, nil
}

func (c *Conn) shut() {
	if c.closed {
		return
	}
	c.closed = true
	if c.calls == 0 {
		close(c.idle)
	}
	c.closing.end()
}

func (c *Conn) cutOff() {
	c.detachAll()
	c.cut.end()
	delete(c.server.conns, c)
}

func (c *Conn) attach(a attachment) { c.attached[a] = struct{}{} }

func (c *Conn) detachAll() {
	c.detaching = true
	for a := range c.attached {
		a.end()
	}
	c.detaching = false
}
