package rabbitmq

import (
	"sync"
	"time"
)

// consumerState is whether a Consume has a live subscription, else why and
// since when not.
type consumerState struct {
	mu    sync.Mutex
	err   error // nil: it has
	since time.Time
}

func (s *consumerState) up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = nil
}

func (s *consumerState) down(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.since = time.Now()
	}
	s.err = err
}

func (s *consumerState) problem() (since time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, s.err
}

// follow makes c one of those that Consuming looks at, until unfollow.
func (b *Broker) follow(c *consumer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.consumers[c] = struct{}{}
}

func (b *Broker) unfollow(c *consumer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.consumers, c)
}
