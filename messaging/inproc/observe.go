package inproc

import (
	"container/list"
	"context"

	"boxoffice/messaging"
)

const defaultBuffer = 256

// observer is one subscribing of an Observe. Guarded by the server's mu.
type observer struct {
	conn     *Conn
	exchange string
	patterns []pattern
	limit    int
	buffer   list.List     // of sight, oldest first
	arrived  chan struct{} // holds a token while the buffer may not be empty
	lost     chan struct{} // closed when it ends
}

type sight struct {
	key string
	m   messaging.Message
}

var _ attachment = (*observer)(nil)

// Observe implements [messaging.Broker].
func (c *Conn) Observe(ctx context.Context, o messaging.Observation) error {
	if o.Exchange == "" {
		return messaging.ErrNoExchange
	}
	ctx, leave, err := c.enter(ctx, c.closing)
	if err != nil {
		return err
	}
	defer leave()
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	for {
		if err := c.server.lockUp(ctx); err != nil {
			return nil // ctx has ended
		}
		watcher := c.watch(o)
		c.server.mu.Unlock()
		if o.Ready != nil {
			o.Ready()
		}
		if !watcher.run(ctx, o.See) {
			return nil
		}
	}
}

func (c *Conn) watch(o messaging.Observation) *observer {
	w := &observer{conn: c, exchange: o.Exchange, limit: o.Buffer, arrived: make(chan struct{}, 1), lost: make(chan struct{})}
	for _, key := range o.Keys {
		w.patterns = append(w.patterns, split(key))
	}
	c.attach(w)
	c.server.observers[w] = struct{}{}
	return w
}

// run shows what arrives until the observer is lost, or ctx ends: then it is false.
func (w *observer) run(ctx context.Context, see func(string, messaging.Message)) (again bool) {
	defer w.leave()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.lost:
			return true
		case <-w.arrived:
		}
		for s, ok := w.next(); ok && ctx.Err() == nil; s, ok = w.next() {
			see(s.key, handOut(s.m))
		}
	}
}

// next takes the oldest of what arrived.
func (w *observer) next() (sight, bool) {
	w.conn.server.mu.Lock()
	defer w.conn.server.mu.Unlock()
	first := w.buffer.Front()
	if first == nil {
		return sight{}, false
	}
	return w.buffer.Remove(first).(sight), true
}

func (w *observer) leave() {
	w.conn.server.mu.Lock()
	defer w.conn.server.mu.Unlock()
	w.end()
}

func (w *observer) end() {
	if _, ok := w.conn.attached[w]; !ok {
		return
	}
	delete(w.conn.attached, w)
	delete(w.conn.server.observers, w)
	w.buffer.Init()
	close(w.lost)
}

// show gives a published event to whoever observes its key.
func (s *Server) show(exchange, key string, m messaging.Message) {
	if len(s.observers) == 0 {
		return
	}
	words := split(key)
	for w := range s.observers {
		if w.exchange != exchange || !w.wants(words) {
			continue
		}
		if w.buffer.Len() == w.limit {
			w.buffer.Remove(w.buffer.Front())
		}
		w.buffer.PushBack(sight{key, m})
		select {
		case w.arrived <- struct{}{}:
		default:
		}
	}
}

func (w *observer) wants(words []string) bool {
	for _, p := range w.patterns {
		if p.matches(words) {
			return true
		}
	}
	return false
}
