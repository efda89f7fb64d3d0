package rabbitmq

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// Ready implements [messaging.Broker]. It never waits. Where nothing was
// confirmed lately it has the broker asked, and tells the answer the next time.
func (b *Broker) Ready() error {
	if b.closing.Err() != nil {
		return messaging.ErrClosed
	}
	if err := b.publisher.problem(); err != nil {
		return err
	}
	if err := b.topology.problem(); err != nil {
		return err
	}
	b.probe()
	return b.publisher.refused()
}

// Consuming implements [messaging.Broker].
func (b *Broker) Consuming() error {
	if b.closing.Err() != nil {
		return messaging.ErrClosed
	}
	var since time.Time
	var problems []error
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.consumers {
		from, err := c.state.problem()
		if err == nil {
			continue
		}
		problems = append(problems, fmt.Errorf("%s is not consumed: %w", c.sub.Queue, err))
		if since.IsZero() || from.Before(since) {
			since = from
		}
	}
	if problems == nil {
		return nil
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return streak.At(joined(problems), since)
}

// joined is several errors on one line.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return &several{strings.Join(texts, "; "), errors.Join(errs...)}
}

type several struct {
	text string
	err  error
}

func (s *several) Error() string { return s.text }
func (s *several) Unwrap() error { return s.err }
