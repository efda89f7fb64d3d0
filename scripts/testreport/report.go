package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

type report struct {
	out     io.Writer
	said    map[event]*strings.Builder // by package and test
	passed  int
	failed  int
	skipped []string
	running *progress
	broken  bool // a test failed, or a package could not be tested to its end
}

func newReport(out io.Writer) *report {
	return &report{out: out, said: map[event]*strings.Builder{}, running: newProgress(time.Now())}
}

// read reads events to the end, and says at each tick how far the tests are.
func (r *report) read(in io.Reader, tick <-chan time.Time) error {
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(in, lines)
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return <-failed
			}
			r.line(line)
		case now := <-tick:
			r.print(r.running.line(r.passed, now))
		}
	}
}

func readLines(in io.Reader, lines chan<- []byte) error {
	buffered := bufio.NewReader(in)
	for {
		line, err := buffered.ReadBytes('\n')
		if len(line) > 0 {
			lines <- line
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}

func (r *report) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		r.print(string(line)) // go itself, before any test ran
		return
	}
	r.running.note(e, time.Now())
	r.add(e)
}

func (r *report) add(e event) {
	switch e.Action {
	case "build-output":
		r.print(e.Output)
	case "output":
		if e.Test == "" && e.Output != "PASS\n" {
			r.print(e.Output)
		} else {
			r.buffer(e).WriteString(e.Output)
		}
	case "pass":
		if e.Test != "" {
			r.passed++
			r.forget(e)
		}
	case "skip":
		if e.Test != "" { // else a package without tests
			r.skipped = append(r.skipped, e.Package+" "+e.Test)
			r.forget(e)
		}
	case "build-fail":
		r.broken = true
	case "fail":
		r.broken = true
		r.fail(e)
	}
}

// fail prints what a failed test said, and at the end of a failed package what
// the tests said that a panic or a timeout left without an end.
func (r *report) fail(e event) {
	if e.Test != "" {
		r.failed++
		r.print(r.buffer(e).String())
		r.forget(e)
		return
	}
	for key, said := range r.said {
		if key.Package == e.Package {
			if key.Test != "" && said.Len() > 0 {
				r.failed++ // it was running when a panic or a timeout ended it
			}
			r.print(said.String())
			delete(r.said, key)
		}
	}
}

// end prints the total and reports whether all is well.
func (r *report) end() bool {
	slices.Sort(r.skipped)
	for _, test := range r.skipped {
		r.print("SKIPPED, and nothing may be skipped: " + test + "\n")
	}
	r.print(fmt.Sprintf("%d tests passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped)))
	return !r.broken && len(r.skipped) == 0
}

func (r *report) buffer(e event) *strings.Builder {
	key := event{Package: e.Package, Test: e.Test}
	if r.said[key] == nil {
		r.said[key] = &strings.Builder{}
	}
	return r.said[key]
}

func (r *report) forget(e event) { delete(r.said, event{Package: e.Package, Test: e.Test}) }

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) } // nobody to tell
