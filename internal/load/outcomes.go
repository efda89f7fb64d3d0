package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// A look that took long is followed by a long pause, so that looking does not
	// become a load of its own.
	lookEvery  = 100 * time.Millisecond
	lookShare  = 9 // times as long as it took
	lookAtMost = time.Second
	pageSize   = 1000
)

// outcomes finds the outcomes of accepted bookings, of all of them by one walk
// through the service's list, which begins at the oldest that has none yet.
type outcomes struct {
	service Service
	rec     *recorder

	mu      sync.Mutex
	pending map[string]bool
	whole   bool          // no more will be added
	changed chan struct{} // told when whole is set
}

func newOutcomes(s Service, r *recorder) *outcomes {
	return &outcomes{service: s, rec: r, pending: make(map[string]bool), changed: make(chan struct{}, 1)}
}

func (o *outcomes) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending[id] = true
}

// complete says that no more will be added.
func (o *outcomes) complete() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.whole = true
	o.changed <- struct{}{}
}

// run looks until every booking has its outcome and no more will come, or until ctx ends.
func (o *outcomes) run(ctx context.Context) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for !o.done() {
		select {
		case <-timer.C:
		case <-o.changed:
			continue
		case <-ctx.Done():
			return
		}
		began := time.Now()
		o.look(ctx)
		timer.Reset(min(max(lookEvery, lookShare*time.Since(began)), lookAtMost))
	}
}

func (o *outcomes) done() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.whole && len(o.pending) == 0
}

// look walks through the list once. What it cannot read now is read next time.
func (o *outcomes) look(ctx context.Context) {
	oldest, newest := o.span()
	if oldest == "" {
		return
	}
	for after := before(oldest); ; {
		page, err := o.service.Bookings(ctx, "", after, pageSize)
		if err != nil {
			return
		}
		for _, b := range page.Bookings {
			if b.Finished() && o.take(b.ID) {
				o.rec.outcome(b)
			}
		}
		if after = page.Next; after == "" || after >= newest {
			return
		}
	}
}

// span is the oldest and the newest of the bookings without an outcome: ids are in the order of time.
func (o *outcomes) span() (oldest, newest string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.pending {
		if oldest == "" || id < oldest {
			oldest = id
		}
		newest = max(newest, id)
	}
	return oldest, newest
}

func (o *outcomes) take(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	ours := o.pending[id]
	delete(o.pending, id)
	return ours
}

// before is the cursor after which id comes first.
func before(id string) string {
	u, err := uuid.Parse(id)
	if err != nil {
		return ""
	}
	for i := range slices.Backward(u[:]) {
		u[i]--
		if u[i] != 0xff {
			break
		}
	}
	return u.String()
}
