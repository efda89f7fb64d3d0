package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// progress is which packages are being tested, and since when.
type progress struct {
	began   time.Time
	running map[string]time.Time
	done    int
}

func newProgress(now time.Time) *progress {
	return &progress{began: now, running: map[string]time.Time{}}
}

// note learns from an event of a package.
func (p *progress) note(e event, now time.Time) {
	if e.Test != "" || e.Package == "" {
		return
	}
	switch e.Action {
	case "start":
		p.running[e.Package] = now
	case "pass", "fail", "skip":
		delete(p.running, e.Package)
		p.done++
	}
}

// line says how far the tests are, the package that runs longest first.
func (p *progress) line(passed int, now time.Time) string {
	if len(p.running) == 0 {
		return fmt.Sprintf("… %s: compiling\n", p.since(p.began, now))
	}
	names := slices.SortedFunc(maps.Keys(p.running), func(a, b string) int {
		return cmp.Or(p.running[a].Compare(p.running[b]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%s)", name, p.since(p.running[name], now))
	}
	return fmt.Sprintf("… %s: %d packages done, %d tests passed; running %s\n", p.since(p.began, now), p.done, passed, strings.Join(names, ", "))
}

func (p *progress) since(then, now time.Time) time.Duration { return now.Sub(then).Round(time.Second) }
