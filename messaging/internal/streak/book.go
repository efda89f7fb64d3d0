package streak

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Forgotten is after how long without another failure a streak in a [Book] is
	// over: nobody tries any more, perhaps because someone else has succeeded.
	Forgotten = time.Minute
	mostKept  = 100
)

// Book keeps a streak for each of a few things. The zero value has none.
type Book[K comparable] struct {
	some    atomic.Bool // so that a success costs no lock
	mu      sync.Mutex
	streaks map[K]*page
}

type page struct {
	since, last time.Time
	err         error
}

// Failed counts a failure of a thing.
func (b *Book[K]) Failed(k K, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.forget(now)
	p := b.streaks[k]
	if p == nil {
		if len(b.streaks) >= mostKept {
			return // enough is wrong
		}
		if b.streaks == nil {
			b.streaks = map[K]*page{}
		}
		p = &page{since: now}
		b.streaks[k] = p
	}
	p.last, p.err = now, err
	b.some.Store(true)
}

// Worked ends the streak of a thing.
func (b *Book[K]) Worked(k K) {
	if !b.some.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.streaks, k)
	b.some.Store(len(b.streaks) > 0)
}

// Err is the last failure of the oldest streak, as [Streak.Err] has it.
func (b *Book[K]) Err() error {
	if !b.some.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(time.Now())
	var oldest *page
	for _, p := range b.streaks {
		if oldest == nil || p.since.Before(oldest.since) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil
	}
	return At(oldest.err, oldest.since)
}

func (b *Book[K]) forget(now time.Time) {
	for k, p := range b.streaks {
		if now.Sub(p.last) > Forgotten {
			delete(b.streaks, k)
		}
	}
	b.some.Store(len(b.streaks) > 0)
}
