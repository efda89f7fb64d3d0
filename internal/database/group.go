package database

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// The errors of a [Group.Do] that did nothing.
var (
	ErrGroupClosed = errors.New("the store is closed") // it came after Close
	// ErrNotBegun, wrapped, says that ctx ended before the commit began, because
	// an earlier one is still running: this request was taken out of the queue.
	ErrNotBegun = errors.New("the statement was not begun")
)

// GroupConfig says how a [Group] commits. Only Commit is required.
type GroupConfig[Req, Res any] struct {
	// Commit does all of the requests in one go, and returns a result for each,
	// in order. It must do all or nothing, or be repeatable.
	Commit func(ctx context.Context, reqs []Req) ([]Res, error)
	// Key, if set, names what a request is about: two with the same key are
	// never in one Commit, nor in two at once.
	Key func(Req) string
	// Max is how many requests one Commit may get; 0: 64.
	Max int
	// Parallel is how many Commits may run at once; 0: 1.
	Parallel int
	// Timeout ends the context of each Commit; 0: 10 s.
	Timeout time.Duration
}

// Group is group commit: calls of Do that arrive while an earlier commit runs
// are committed together, next. It never waits for company: an idle group
// commits a single request at once.
//
// One bad request does not fail its neighbours: if a commit of several fails
// with an error that [BlamesRow], each is tried alone. So it is if the commit
// [LostRace] to another transaction, which a request alone hardly can: it holds
// nothing that others wait for. Any other error would meet each of them, and
// goes to all.
type Group[Req, Res any] struct {
	cfg GroupConfig[Req, Res]

	mu      sync.Mutex // never held while anything blocks
	waiting []*call[Req, Res]
	busy    map[string]bool // the keys that are being committed
	workers int
	closed  bool
	wg      sync.WaitGroup // the workers
}

type call[Req, Res any] struct {
	req  Req
	key  string
	res  Res
	err  error
	done chan struct{} // closed when res and err are set
}

// NewGroup makes a group. Close it.
func NewGroup[Req, Res any](cfg GroupConfig[Req, Res]) *Group[Req, Res] {
	if cfg.Max <= 0 {
		cfg.Max = 64
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = 1
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Group[Req, Res]{cfg: cfg, busy: make(map[string]bool)}
}

// Do commits one request, together with whatever else is waiting. If ctx ends
// before its commit has begun, nothing is done, and the error wraps
// ErrNotBegun. If ctx ends later, the commit goes on, for it never depends on
// one caller: the error is the context's, and the outcome is unknown.
func (g *Group[Req, Res]) Do(ctx context.Context, req Req) (Res, error) {
	var none Res
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", ErrNotBegun, err)
	}
	c := &call[Req, Res]{req: req, done: make(chan struct{})}
	if g.cfg.Key != nil {
		c.key = g.cfg.Key(req)
	}
	if err := g.enqueue(c); err != nil {
		return none, err
	}
	select {
	case <-c.done:
		return c.res, c.err
	case <-ctx.Done():
	}
	if g.withdraw(c) {
		return none, fmt.Errorf("%w: %w", ErrNotBegun, ctx.Err())
	}
	select {
	case <-c.done: // both at once: the result is worth more
		return c.res, c.err
	default:
		return none, ctx.Err()
	}
}

// withdraw takes a call out of the queue, and reports whether it was there.
func (g *Group[Req, Res]) withdraw(c *call[Req, Res]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, c)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// Close waits until everything that Do has accepted is committed.
func (g *Group[Req, Res]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}

func (g *Group[Req, Res]) enqueue(c *call[Req, Res]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrGroupClosed
	}
	g.waiting = append(g.waiting, c)
	g.hire()
	return nil
}

// hire starts a worker if there is room for one. The mutex is held.
func (g *Group[Req, Res]) hire() {
	if g.workers < g.cfg.Parallel {
		g.workers++
		g.wg.Go(g.work)
	}
}

// work commits batches until nothing is left that it may take.
func (g *Group[Req, Res]) work() {
	for {
		batch := g.take()
		if len(batch) == 0 {
			return
		}
		g.commit(batch)
		g.finish(batch)
	}
}

// take removes the next batch from the queue, oldest first, at most one
// request of each key; without one, the worker has left.
func (g *Group[Req, Res]) take() []*call[Req, Res] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch, rest []*call[Req, Res]
	for _, c := range g.waiting {
		if len(batch) == g.cfg.Max || g.cfg.Key != nil && g.busy[c.key] {
			rest = append(rest, c)
			continue
		}
		if g.cfg.Key != nil {
			g.busy[c.key] = true
		}
		batch = append(batch, c)
	}
	g.waiting = rest
	if len(batch) == 0 {
		g.workers--
	}
	return batch
}

// finish hands out the results, and lets the next requests of the same keys go.
func (g *Group[Req, Res]) finish(batch []*call[Req, Res]) {
	g.mu.Lock()
	for _, c := range batch {
		delete(g.busy, c.key)
	}
	if len(g.waiting) > 0 {
		g.hire() // for what had to wait for one of these keys
	}
	g.mu.Unlock()
	for _, c := range batch {
		close(c.done)
	}
}

func (g *Group[Req, Res]) commit(batch []*call[Req, Res]) {
	err := g.try(batch)
	if err == nil {
		return
	}
	if len(batch) > 1 && (BlamesRow(err) || LostRace(err)) {
		g.commitEach(batch)
		return
	}
	fail(batch, err)
}

// commitEach tries the members of a failed batch alone.
func (g *Group[Req, Res]) commitEach(batch []*call[Req, Res]) {
	for i := range batch {
		err := g.try(batch[i : i+1])
		switch {
		case err == nil:
		case BlamesRow(err), LostRace(err):
			batch[i].err = err
		default: // the database went away: the others would only wait for it, one after another
			fail(batch[i:], err)
			return
		}
	}
}

func fail[Req, Res any](batch []*call[Req, Res], err error) {
	for _, c := range batch {
		c.err = err
	}
}

// maxRaces is how often a statement alone may lose a race before that is an error.
const maxRaces = 3

// try runs Commit, and keeps its results if it succeeded.
func (g *Group[Req, Res]) try(batch []*call[Req, Res]) (err error) {
	for range maxRaces {
		if err = g.once(batch); len(batch) > 1 || !LostRace(err) {
			break
		}
	}
	return err
}

func (g *Group[Req, Res]) once(batch []*call[Req, Res]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	// Detached from every caller: their contexts are not the working context.
	ctx, cancel := context.WithTimeout(context.Background(), g.cfg.Timeout)
	defer cancel()
	reqs := make([]Req, len(batch))
	for i, c := range batch {
		reqs[i] = c.req
	}
	res, err := g.cfg.Commit(ctx, reqs)
	if err != nil {
		return err
	}
	if len(res) != len(batch) {
		return fmt.Errorf("commit returned %d results for %d requests", len(res), len(batch))
	}
	for i, c := range batch {
		c.res = res[i]
	}
	return nil
}

// panicError is a panic in a Commit.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
