package database_test

import (
	"context"
	"sync"
	"testing"

	"boxoffice/internal/database"
)

// Many callers, real threads: each gets its own answer, every request is
// committed exactly once, and no key twice at once.
func TestGroupUnderLoad(t *testing.T) {
	const callers, each = 50, 40
	var mu sync.Mutex
	committed := make(map[int]int)
	running := make(map[string]bool)
	g := database.NewGroup(database.GroupConfig[int, int]{
		Key: decimalKey, Max: 8, Parallel: 3,
		Commit: func(_ context.Context, reqs []int) ([]int, error) {
			mu.Lock()
			for _, r := range reqs {
				if running[decimalKey(r)] {
					t.Errorf("key of %d is committed twice at once", r)
				}
				running[decimalKey(r)] = true
			}
			mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			res := make([]int, len(reqs))
			for i, r := range reqs {
				committed[r]++
				delete(running, decimalKey(r))
				res[i] = -r
			}
			return res, nil
		},
	})
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				r := c*each + i
				if res, err := g.Do(context.Background(), r); err != nil || res != -r {
					t.Errorf("Do(%d) = %d, %v", r, res, err)
				}
			}
		})
	}
	wg.Wait()
	g.Close()
	for r := range callers * each {
		if committed[r] != 1 {
			t.Errorf("request %d was committed %d times", r, committed[r])
		}
	}
}
