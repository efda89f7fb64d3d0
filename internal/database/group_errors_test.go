package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"boxoffice/internal/database"
)

var (
	errRow  = fmt.Errorf("insert: %w", &pgconn.PgError{Code: "23514"})
	errDown = errors.New("connection refused")
)

// commitTogether runs the requests as one batch behind a first one (-1) that
// is already being committed, and returns their errors.
func commitTogether(commit func([]int) error, reqs []int) []error {
	open := make(chan struct{})
	g := database.NewGroup(database.GroupConfig[int, int]{
		Max: 1000,
		Commit: func(_ context.Context, reqs []int) ([]int, error) {
			if reqs[0] == -1 {
				<-open
				return reqs, nil
			}
			return reqs, commit(reqs)
		},
	})
	errs := make([]error, len(reqs))
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = g.Do(context.Background(), -1) })
	synctest.Wait()
	for i, r := range reqs {
		wg.Go(func() { _, errs[i] = g.Do(context.Background(), r) })
		synctest.Wait()
	}
	close(open)
	wg.Wait()
	g.Close()
	return errs
}

func TestGroupOneBadRowDoesNotFailItsNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := commitTogether(func(reqs []int) error {
			if slices.Contains(reqs, 2) {
				return errRow
			}
			return nil
		}, []int{1, 2, 3})
		if errs[0] != nil || !errors.Is(errs[1], errRow) || errs[2] != nil {
			t.Errorf("errors %v, want only the second", errs)
		}
	})
}

// A batch that lost a deadlock is committed one by one, and a request that
// loses even alone is tried again.
func TestGroupSurvivesADeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadlock := fmt.Errorf("update: %w", &pgconn.PgError{Code: "40P01"})
		tried := make(map[int]int)
		errs := commitTogether(func(reqs []int) error {
			if len(reqs) > 1 {
				return deadlock
			}
			if tried[reqs[0]]++; reqs[0] == 2 && tried[2] == 1 || reqs[0] == 3 {
				return deadlock
			}
			return nil
		}, []int{1, 2, 3, 4})
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], deadlock) || errs[3] != nil {
			t.Errorf("got %v, want an error for 3 only", errs)
		}
		if tried[1] != 1 || tried[2] != 2 || tried[3] != 3 || tried[4] != 1 {
			t.Errorf("tried %v", tried)
		}
	})
}

// What may have been committed in part is not repeated by the group.
func TestGroupLeavesAnUnknownOutcomeToItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commits := 0
		errs := commitTogether(func([]int) error {
			commits++
			return database.Unknown(&pgconn.PgError{Code: "40P01"})
		}, []int{1, 2})
		if commits != 1 || errs[0] == nil || errs[1] == nil {
			t.Errorf("%d commits, %v", commits, errs)
		}
	})
}

func TestGroupPanicIsTheRowsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := commitTogether(func(reqs []int) error {
			if slices.Contains(reqs, 2) {
				panic("two!")
			}
			return nil
		}, []int{1, 2, 3})
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Fatalf("errors %v, want only the second", errs)
		}
		if !database.BlamesRow(errs[1]) || !strings.Contains(errs[1].Error(), "two!") || !strings.Contains(errs[1].Error(), "group_errors_test.go") {
			t.Errorf("the panic's error does not tell what and where: %v", errs[1])
		}
	})
}

func TestGroupStoreDownMidwayFailsTheRestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		errs := commitTogether(func([]int) error {
			tries++
			switch tries {
			case 1:
				return errRow // as one batch
			case 2:
				return nil // the first one alone
			}
			return errDown
		}, []int{1, 2, 3, 4})
		if errs[0] != nil || !errors.Is(errs[1], errDown) || !errors.Is(errs[2], errDown) || !errors.Is(errs[3], errDown) {
			t.Errorf("errors %v", errs)
		}
		if tries != 3 {
			t.Errorf("%d commits, want 3: a store that is down is not asked once per member", tries)
		}
	})
}

// Whatever is bad in a batch, each request ends with its own fate: an error of
// the row if it is bad, the store's error for everybody if the store is down.
func TestGroupEveryRequestGetsItsOwnFate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "requests")
		bad := make([]bool, n)
		for i := range bad {
			bad[i] = rapid.Bool().Draw(rt, "bad")
		}
		down := rapid.Bool().Draw(rt, "down")
		reqs := make([]int, n)
		for i := range reqs {
			reqs[i] = i
		}
		var errs []error
		synctest.Test(t, func(*testing.T) {
			errs = commitTogether(func(reqs []int) error {
				switch {
				case down:
					return errDown
				case slices.ContainsFunc(reqs, func(r int) bool { return bad[r] }):
					return errRow
				}
				return nil
			}, reqs)
		})
		for i, err := range errs {
			var want error
			switch {
			case down:
				want = errDown
			case bad[i]:
				want = errRow
			}
			if !errors.Is(err, want) {
				rt.Fatalf("request %d (bad %t, down %t) got %v", i, bad[i], down, err)
			}
		}
	})
}
