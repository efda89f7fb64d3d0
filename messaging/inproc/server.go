package inproc

import (
	"container/list"
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultMaxBytes bounds the stored messages of a Server if its Options do not.
const DefaultMaxBytes = 256 << 20

// Options of a Server. The zero value is ready to use.
type Options struct {
	// MaxBytes bounds what the stored messages take together: bodies, headers,
	// and a fixed amount for each. Publishers wait when it is full, also those
	// that publish before they acknowledge: keep it well above what may be in
	// flight at once. 0: DefaultMaxBytes.
	MaxBytes int64
	// MaxHeader bounds the headers and properties of a message, in bytes, as a
	// frame of a real broker does. 0: DefaultMaxHeader.
	MaxHeader int
}

// DefaultMaxHeader bounds the headers of a message if the Options do not.
const DefaultMaxHeader = 128 << 10

// Server is the broker. It owns no goroutine and needs no closing.
type Server struct {
	// mu guards everything below and everything in queues, sessions, observers
	// and connections. It is never held while waiting for anything.
	mu        sync.Mutex
	up        bool
	since     time.Time     // when up changed
	changed   chan struct{} // closed and replaced when up or the topology changes
	exchanges map[string]*exchange
	queues    map[string]*queue
	observers map[*observer]struct{}
	conns     map[*Conn]struct{}

	maxHeader       int
	maxBytes, bytes int64
	waiting         list.List // of *waiter: publishers without room, longest first
}

// New is a running, empty broker.
func New(opts Options) *Server {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.MaxHeader <= 0 {
		opts.MaxHeader = DefaultMaxHeader
	}
	return &Server{
		up:        true,
		maxHeader: opts.MaxHeader,
		changed:   make(chan struct{}),
		exchanges: map[string]*exchange{},
		queues:    map[string]*queue{},
		observers: map[*observer]struct{}{},
		conns:     map[*Conn]struct{}{},
		maxBytes:  opts.MaxBytes,
	}
}

// Stop is an outage: every session ends, nothing expires, and calls wait for
// [Server.Start] or the end of their context. Stored messages are kept.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.up {
		return
	}
	s.up, s.since = false, time.Now()
	s.announce()
	for c := range s.conns {
		c.detachAll()
	}
}

// Start ends an outage. Consumers and observers come back by themselves.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up {
		return
	}
	s.up = true
	s.announce()
	for _, q := range s.queues {
		q.expire()
	}
}

// Depth is how many messages of a queue wait, and how many are delivered but
// unsettled. A queue that does not exist has neither.
func (s *Server) Depth(queue string) (ready, unacked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil {
		return 0, 0
	}
	return q.ready.Len() + len(q.stuck), q.unacked
}

// Queues is the names of all queues, sorted.
func (s *Server) Queues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.queues))
}

// announce wakes every call that waits for the broker or its topology to change.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
