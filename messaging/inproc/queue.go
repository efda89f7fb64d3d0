package inproc

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"boxoffice/messaging"
)

// queue is one queue. Everything in it is guarded by the server's mu.
type queue struct {
	messaging.Queue
	server *Server

	ready    list.List // of *entry, by seq
	unacked  int       // held by sessions
	stuck    []*entry  // to be dead-lettered, once a queue is bound there
	lastSeq  uint64
	sessions []*session // that consume, the next to be served first
	timer    *time.Timer
}

// entry is one message in one queue. The message is never changed.
type entry struct {
	messaging.Message
	seq           uint64 // its place in the queue
	exchange, key string // as published, or as dead-lettered
	count         int    // deliveries that were returned
	expires       time.Time
	weight        int64
	reason        string // why it is stuck
}

func (q *queue) enqueue(m messaging.Message, exchange, key string) {
	q.lastSeq++
	e := &entry{Message: m, seq: q.lastSeq, exchange: exchange, key: key, weight: weight(m)}
	if q.TTL > 0 {
		e.expires = time.Now().Add(q.TTL)
	}
	q.server.bytes += e.weight
	q.ready.PushBack(e)
	q.dispatch()
	if q.TTL > 0 && q.ready.Len() == 1 {
		q.expire()
	}
}

// dispatch hands ready messages to the sessions that have room for them, in turn.
func (q *queue) dispatch() {
	for q.server.up && q.ready.Len() > 0 {
		i := slices.IndexFunc(q.sessions, (*session).hasRoom)
		if i < 0 {
			return
		}
		s := q.sessions[i]
		q.sessions = append(slices.Delete(q.sessions, i, i+1), s)
		s.take(q.ready.Front())
	}
}

// giveBack returns what a session held to where it was in the queue. If it
// counts as a delivery, what was delivered too often is dead-lettered instead.
func (q *queue) giveBack(held []*entry, counts bool) {
	slices.SortFunc(held, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	q.unacked -= len(held)
	var spent []*entry
	at := q.ready.Front()
	for _, e := range held {
		if counts {
			e.count++
		}
		if q.DeliveryLimit > 0 && e.count > q.DeliveryLimit {
			spent = append(spent, e)
			continue
		}
		for at != nil && at.Value.(*entry).seq < e.seq {
			at = at.Next()
		}
		if at == nil {
			q.ready.PushBack(e)
		} else {
			q.ready.InsertBefore(e, at)
		}
	}
	for _, e := range spent {
		q.deadLetter(e, reasonDeliveryLimit)
	}
	q.expire()
	q.dispatch()
}

// expire dead-letters what has waited out the TTL at the head of the queue, and
// sets the timer for the next. All wait equally long, so the head is the first.
func (q *queue) expire() {
	if q.TTL == 0 || !q.server.up {
		return
	}
	for first := q.ready.Front(); first != nil; first = q.ready.Front() {
		e := first.Value.(*entry)
		if wait := time.Until(e.expires); wait > 0 {
			q.wake(wait)
			return
		}
		q.ready.Remove(first)
		q.deadLetter(e, reasonExpired)
	}
}

// wake calls expire after a while: one timer, however many messages wait.
func (q *queue) wake(after time.Duration) {
	if q.timer != nil {
		q.timer.Reset(after)
		return
	}
	q.timer = time.AfterFunc(after, func() {
		q.server.mu.Lock()
		defer q.server.mu.Unlock()
		q.expire()
	})
}
