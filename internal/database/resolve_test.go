package database_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

type labelled struct {
	id    uuid.UUID
	label string
}

func labelKey(l labelled) uuid.UUID { return l.id }

func TestResolveRunsStepsUntilAllHaveARow(t *testing.T) {
	a, b, c := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	var asked [][]labelled
	step := func(answers ...[]labelled) func(context.Context, []labelled) ([]labelled, error) {
		n := 0
		return func(_ context.Context, left []labelled) ([]labelled, error) {
			asked = append(asked, slices.Clone(left))
			n++
			return answers[n-1], nil
		}
	}
	rows, err := database.Resolve(t.Context(), []labelled{{id: a}, {id: b}, {id: c}}, labelKey,
		step([]labelled{{b, "made"}}, nil),
		step(nil, []labelled{{c, "found"}, {a, "found"}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := []labelled{{a, "found"}, {b, "made"}, {c, "found"}}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want them in the order asked: %v", rows, want)
	}
	want := [][]labelled{{{id: a}, {id: b}, {id: c}}, {{id: a}, {id: c}}, {{id: a}, {id: c}}, {{id: a}, {id: c}}}
	if !slices.EqualFunc(asked, want, slices.Equal) {
		t.Errorf("steps were asked for %v, want %v", asked, want)
	}
}

func TestResolveEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, step := range map[string]func(context.Context, []labelled) ([]labelled, error){
		"with the step's error": func(context.Context, []labelled) ([]labelled, error) { return nil, broken },
		"without progress":      func(context.Context, []labelled) ([]labelled, error) { return nil, nil },
	} {
		if _, err := database.Resolve(t.Context(), []labelled{{}}, labelKey, step); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if rows, err := database.Resolve(t.Context(), nil, labelKey); err != nil || len(rows) != 0 {
		t.Errorf("nothing wanted: %v, %v", rows, err)
	}
}
