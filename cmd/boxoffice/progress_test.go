package main

import (
	"fmt"
	"slices"
	"testing"
)

// A line that stays the same is shown less and less often, a new one at once.
func TestSeldom(t *testing.T) {
	t.Parallel()
	var shown []int
	tick := 0
	show := seldom(func(string) { shown = append(shown, tick) })
	for tick = 1; tick <= 50; tick++ {
		show("the same")
	}
	if want := []int{1, 3, 7, 15, 31, 47}; !slices.Equal(shown, want) {
		t.Errorf("shown at %v, want %v", shown, want)
	}
	shown = nil
	for tick = 1; tick <= 3; tick++ {
		show(fmt.Sprint("new ", tick))
	}
	if !slices.Equal(shown, []int{1, 2, 3}) {
		t.Errorf("what is new is shown at %v", shown)
	}
}
