package inproc

import (
	"container/list"
	"errors"
	"slices"

	"boxoffice/messaging"
)

var (
	errLost    = errors.New("the session that delivered the message is lost; it will be delivered again")
	errSettled = errors.New("the delivery is settled already")
)

// session is what a Consume or a Browse holds of one queue between two losses
// of the connection. Guarded by the server's mu.
type session struct {
	conn  *Conn
	queue *queue
	held  map[*entry]struct{}
	lost  func() // called once when the session ends; must not block
	ended bool

	// Of a Consume; the rest is nil for a Browse.
	prefetch int
	stopped  bool         // it takes no more
	deliver  func(*entry) // starts a handler; must not block
}

var _ attachment = (*session)(nil)

func (s *session) hasRoom() bool {
	return !s.stopped && !s.conn.detaching && len(s.held) < s.prefetch
}

// take moves a ready message into the session.
func (s *session) take(ready *list.Element) {
	e := ready.Value.(*entry)
	s.queue.ready.Remove(ready)
	s.queue.unacked++
	s.held[e] = struct{}{}
	if s.deliver != nil {
		s.deliver(e)
	}
}

// ack removes a held message for good.
func (s *session) ack(e *entry) error {
	s.conn.server.mu.Lock()
	defer s.conn.server.mu.Unlock()
	if s.ended {
		return errLost
	}
	if _, ok := s.held[e]; !ok {
		return errSettled
	}
	delete(s.held, e)
	s.queue.unacked--
	s.queue.dispatch()
	s.conn.server.release(e.weight)
	return nil
}

// end gives back what is unsettled. Each of it counts as delivered, unless it
// was only looked at.
func (s *session) end() {
	if s.ended {
		return
	}
	s.ended = true
	q := s.queue
	q.sessions = slices.DeleteFunc(q.sessions, func(other *session) bool { return other == s })
	delete(s.conn.attached, s)
	held := make([]*entry, 0, len(s.held))
	for e := range s.held {
		held = append(held, e)
	}
	s.held = nil
	s.lost()
	q.giveBack(held, s.deliver != nil)
}

// lose is end for those who do not hold mu.
func (s *session) lose() {
	s.conn.server.mu.Lock()
	defer s.conn.server.mu.Unlock()
	s.end()
}

// settler settles one delivery of a Consume.
type settler struct {
	session *session
	entry   *entry
}

var _ messaging.Settler = settler{}

func (s settler) Ack() error { return s.session.ack(s.entry) }
func (s settler) Lose()      { s.session.lose() }
