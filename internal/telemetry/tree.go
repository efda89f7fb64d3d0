package telemetry

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"boxoffice/internal/plain"
)

type row struct{ name, service, start, took, note string }

// Tree draws a trace as a tree, a line for each span: its name, service, start
// after the trace's, duration, and failure. Spans whose parent is not among
// them are drawn as roots. It is no longer than a thousand lines, and whatever the
// spans say, it commands no terminal.
func Tree(spans []Span) string {
	spans = append([]Span(nil), spans...)
	byStart(spans)
	if len(spans) == 0 {
		return ""
	}
	t := tree{began: spans[0].Start, children: map[string][]Span{}, drawn: map[string]bool{}}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	var roots []Span
	for _, s := range spans {
		if known[s.ParentID] && s.ParentID != s.ID {
			t.children[s.ParentID] = append(t.children[s.ParentID], s)
		} else {
			roots = append(roots, s)
		}
	}
	for _, s := range append(roots, spans...) { // the second time, those that are only reached by a circle
		t.draw(s, "", "")
	}
	text := align(t.rows)
	if t.more > 0 {
		text += fmt.Sprintf("… and %d more spans\n", t.more)
	}
	return text
}

// No saga comes near these: a trace may be a stranger's.
const (
	mostRows = 1000
	deepest  = 60
)

type tree struct {
	began    time.Time
	children map[string][]Span
	drawn    map[string]bool
	rows     []row
	more     int // spans than rows
}

func (t *tree) draw(s Span, branch, indent string) {
	if t.drawn[s.ID] {
		return
	}
	t.drawn[s.ID] = true
	if len(t.rows) == mostRows {
		t.more++
		return // nor its children: they are reached at the end
	}
	line := row{
		name: branch + plain.Short(s.Name, 100), service: plain.Short(s.Service, 40),
		start: "+" + millis(s.Start.Sub(t.began)), took: millis(s.Duration()),
	}
	if s.Error != "" {
		line.note = "✗ " + plain.Short(s.Error, 500)
	}
	t.rows = append(t.rows, line)
	if utf8.RuneCountInString(indent) >= 3*deepest {
		indent = indent[:0] // it goes on at the left
	}
	children := t.children[s.ID]
	for i, child := range children {
		if i < len(children)-1 {
			t.draw(child, indent+"├─ ", indent+"│  ")
		} else {
			t.draw(child, indent+"└─ ", indent+"   ")
		}
	}
}

func align(rows []row) string {
	var name, service, start, took int
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r.name))
		service = max(service, utf8.RuneCountInString(r.service))
		start = max(start, len(r.start))
		took = max(took, len(r.took))
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %*s  %*s  %s", name, r.name, service, r.service, start, r.start, took, r.took, r.note)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// millis says short times with more digits than long ones.
func millis(d time.Duration) string {
	ms := float64(max(d, 0)) / float64(time.Millisecond)
	switch {
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}
