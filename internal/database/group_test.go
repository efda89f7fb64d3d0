package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/database"
)

// gate is a Commit that waits to be let through, so that a test decides what
// queues up behind it. It answers each request with its double.
type gate struct {
	open    chan struct{}
	mu      sync.Mutex
	batches [][]int
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) commit(_ context.Context, reqs []int) ([]int, error) {
	g.mu.Lock()
	g.batches = append(g.batches, slices.Clone(reqs))
	g.mu.Unlock()
	<-g.open
	res := make([]int, len(reqs))
	for i, r := range reqs {
		res[i] = 2 * r
	}
	return res, nil
}

func (g *gate) sizes() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sizes []int
	for _, b := range g.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func decimalKey(r int) string { return fmt.Sprint(r % 10) }

func TestGroupCoalescesWhatArrivesDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := database.NewGroup(database.GroupConfig[int, int]{Commit: gate.commit, Max: 4})
		for i := range 11 {
			go func() {
				if res, err := g.Do(t.Context(), i); err != nil || res != 2*i {
					t.Errorf("Do(%d) = %d, %v", i, res, err)
				}
			}()
			synctest.Wait() // an idle group commits the first one at once, alone
		}
		if got := gate.sizes(); !slices.Equal(got, []int{1}) {
			t.Fatalf("commits before the first one ended: %v", got)
		}
		close(gate.open)
		g.Close()
		if got := gate.sizes(); !slices.Equal(got, []int{1, 4, 4, 2}) {
			t.Errorf("batch sizes %v, want 1, 4, 4, 2", got)
		}
	})
}

func TestGroupNeverCommitsOneKeyTwiceInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := database.NewGroup(database.GroupConfig[int, int]{Commit: gate.commit, Key: decimalKey})
		for _, i := range []int{1, 2, 12, 3, 11, 22} {
			go func() { _, _ = g.Do(t.Context(), i) }()
			synctest.Wait()
		}
		close(gate.open)
		g.Close()
		if got := fmt.Sprint(gate.batches); got != "[[1] [2 3 11] [12] [22]]" {
			t.Errorf("batches %s", got)
		}
	})
}

func TestGroupParallelCommitsNeverShareAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := database.NewGroup(database.GroupConfig[int, int]{Commit: gate.commit, Key: decimalKey, Parallel: 2})
		for _, i := range []int{1, 11, 2, 3} {
			go func() { _, _ = g.Do(t.Context(), i) }()
			synctest.Wait()
		}
		if got := fmt.Sprint(gate.batches); got != "[[1] [2]]" {
			t.Errorf("running at once: %s, want 1 and 2, not 11", got)
		}
		close(gate.open)
		g.Close()
	})
}

func TestGroupRequestWhoseCallerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := database.NewGroup(database.GroupConfig[int, int]{Commit: gate.commit})
		ctx, cancel := context.WithCancel(t.Context())
		errs := make([]error, 3) // one being committed, two waiting
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = g.Do(ctx, i) })
			synctest.Wait()
		}
		cancel()
		wg.Wait()
		for i, err := range errs {
			begun := i == 0
			if !errors.Is(err, context.Canceled) || errors.Is(err, database.ErrNotBegun) == begun || database.NotCommitted(err) == begun {
				t.Errorf("Do(%d) = %v, which was begun: %v", i, err, begun)
			}
		}
		if _, err := g.Do(ctx, 7); !errors.Is(err, context.Canceled) || !database.NotCommitted(err) {
			t.Errorf("Do on an ended context = %v", err)
		}
		close(gate.open)
		g.Close()
		if got := fmt.Sprint(gate.batches); got != "[[0]]" {
			t.Errorf("committed %v, want 0 alone: its commit does not depend on its caller, and the others were taken back", got)
		}
	})
}

func TestGroupCommitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := database.NewGroup(database.GroupConfig[int, int]{
			Timeout: 3 * time.Second,
			Commit: func(ctx context.Context, _ []int) ([]int, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		defer g.Close()
		start := time.Now()
		_, err := g.Do(t.Context(), 1)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("Do = %v after %v, want DeadlineExceeded after 3s", err, time.Since(start))
		}
	})
}

func TestGroupCloseWaitsThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := database.NewGroup(database.GroupConfig[int, int]{Commit: gate.commit})
		var answered atomic.Int32
		for i := range 3 {
			go func() {
				if _, err := g.Do(t.Context(), i); err == nil {
					answered.Add(1)
				}
			}()
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("Close returned while a commit was running")
		default:
		}
		if _, err := g.Do(t.Context(), 9); !errors.Is(err, database.ErrGroupClosed) {
			t.Errorf("Do after Close = %v, want ErrGroupClosed", err)
		}
		close(gate.open)
		<-closed
		synctest.Wait()
		if answered.Load() != 3 {
			t.Errorf("%d of 3 accepted requests were answered", answered.Load())
		}
	})
}

func TestGroupWrongNumberOfResults(t *testing.T) {
	g := database.NewGroup(database.GroupConfig[int, int]{
		Commit: func(context.Context, []int) ([]int, error) { return nil, nil },
	})
	defer g.Close()
	if _, err := g.Do(t.Context(), 1); err == nil {
		t.Error("a commit without results succeeded")
	}
}
