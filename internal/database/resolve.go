package database

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// maxRounds is far more than rivals can cause: a row that is there stays.
const maxRounds = 20

var errUnresolved = errors.New("rows appear and vanish: something empties the table meanwhile")

// Resolve finds or makes one row for each wanted one, whatever other
// transactions do meanwhile. It runs the steps in turn, each a statement of
// its own on those that have no row yet, and begins again until all have one.
// A step returns the rows that it made or found.
//
// It is how INSERT … ON CONFLICT DO NOTHING becomes "insert it or tell me what
// is there": the insert hides what it conflicted with, and its own snapshot
// may not show it, but a later statement's does.
func Resolve[T any](
	ctx context.Context, wanted []T, key func(T) uuid.UUID, steps ...func(context.Context, []T) ([]T, error),
) ([]T, error) {
	found := make(map[uuid.UUID]T, len(wanted))
	left := wanted
	for round := 0; len(left) > 0; round++ {
		if round == maxRounds {
			return nil, errUnresolved
		}
		for _, step := range steps {
			rows, err := step(ctx, left)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				found[key(r)] = r
			}
			if left = without(left, key, found); len(left) == 0 {
				break
			}
		}
	}
	rows := make([]T, len(wanted))
	for i, w := range wanted {
		rows[i] = found[key(w)]
	}
	return rows, nil
}

func without[T any](all []T, key func(T) uuid.UUID, found map[uuid.UUID]T) []T {
	var left []T
	for _, v := range all {
		if _, ok := found[key(v)]; !ok {
			left = append(left, v)
		}
	}
	return left
}
