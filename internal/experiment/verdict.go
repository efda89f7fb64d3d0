package experiment

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"boxoffice/internal/lab"
)

// Result is how an experiment ended.
type Result struct {
	Name       string
	Broken     []string // expectations and invariants; none: PASS
	Invariants []int    // those among them, each once
	Disturbed  string   // what others did meanwhile, so that Broken may be their doing; or ""
	Took       time.Duration

	unsafe lab.Unsafe // that was off
	shows  bool       // what that is for
}

// Verdict is PASS or FAIL, or DISTURBED: nobody knows.
func (r Result) Verdict() string {
	switch {
	case r.Disturbed != "":
		return "DISTURBED"
	case len(r.Broken) == 0:
		return "PASS"
	}
	return "FAIL"
}

// Line is the verdict in one line, for a table of them.
func (r Result) Line() string {
	return fmt.Sprintf("%-9s  %-17s  %6s", r.Verdict(), r.Name, short(r.Took))
}

// AsItShould reports whether it failed because a safety was off without which
// it has to fail.
func (r Result) AsItShould() bool { return r.Verdict() == "FAIL" && r.shows }

// Conclusion is what the safety that was off has to do with it, or "".
func (r Result) Conclusion() string {
	off := "UNSAFE=" + string(r.unsafe)
	switch {
	case r.unsafe == "":
		return ""
	case r.AsItShould():
		return fmt.Sprintf("it fails, as it should with %s: %s", off, r.what())
	case r.shows:
		return "it passes, though it should fail with " + off
	case len(r.Broken) > 0:
		return fmt.Sprintf("it fails with %s, although it is not about that: %s", off, r.what())
	}
	var others []string
	for _, e := range All() {
		if slices.Contains(e.Unsafe, r.unsafe) {
			others = append(others, e.Name)
		}
	}
	are := "is"
	if len(others) > 1 {
		are = "are"
	}
	return fmt.Sprintf("it passes, as it is not about what %s turns off: %s %s", off, and(others), are)
}

// what is broken, in a few words.
func (r Result) what() string {
	switch len(r.Invariants) {
	case 0:
		return "every invariant holds in the end, but not what it promises on the way there"
	case 1:
		return fmt.Sprintf("invariant %d is broken", r.Invariants[0])
	}
	return fmt.Sprintf("invariants %s are broken", and(r.Invariants))
}

// show tells it, and what to try next.
func (r Result) show(out io.Writer, e Experiment, s Stack) {
	fmt.Fprintf(out, "\n%s  %s  %s\n", r.Verdict(), r.Name, short(r.Took))
	if r.Disturbed != "" {
		fmt.Fprintf(out, "      disturbed: %s\n", r.Disturbed)
		for _, b := range r.Broken {
			fmt.Fprintf(out, "      broken, perhaps by that: %s\n", b)
		}
		fmt.Fprint(out, "      so nobody knows whether it passes: play it again while nobody else uses the stack\n")
		return
	}
	for _, b := range r.Broken {
		fmt.Fprintf(out, "      broken: %s\n", b)
	}
	switch conclusion := r.Conclusion(); {
	case conclusion != "":
		fmt.Fprintf(out, "      %s\n", conclusion)
	case len(r.Invariants) > 0:
		fmt.Fprintf(out, "      %s\n", r.what())
	case len(r.Broken) > 0 || len(e.Unsafe) == 0:
	case s.Own:
		fmt.Fprintf(out, "      see it fail: UNSAFE=%s boxoffice experiment %s\n", e.Unsafe[0], e.Name)
	default:
		fmt.Fprintf(out, "      see it fail: start the services with UNSAFE=%s\n", e.Unsafe[0])
	}
}

// mostShown is of how many bookings the traces are named.
const mostShown = 4

// lookAt names what is worth a look afterwards.
func (s *Stage) lookAt(ctx context.Context, e Experiment) {
	width := len("queues")
	for _, b := range s.shown[:min(mostShown, len(s.shown))] {
		width = max(width, utf8.RuneCountInString(b.Customer))
	}
	line := func(what, text string) { fmt.Fprintf(s.out, "  %-*s  %s\n", width, what, text) }
	fmt.Fprint(s.out, "\n  look at:\n")
	line("queues", strings.Join(slices.Concat(e.Queues, s.queues), ", "))
	trace := e.Trace
	if len(s.broken) > 0 {
		trace = "if nothing were broken: " + trace
	}
	line("traces", trace)
	for i, b := range s.shown {
		if i == mostShown {
			line("", fmt.Sprintf("and %d more", len(s.shown)-mostShown))
			break
		}
		line(b.Customer, fmt.Sprintf("booking %s, trace %s", b.ID, b.TraceID))
		if s.watch != nil {
			line("", "events: "+s.timeline(b))
		}
		if s.Hint != nil {
			for _, command := range s.Hint(b.ID) {
				line("", command)
			}
		}
		if s.Tree != nil {
			fmt.Fprintln(s.out, "\n    "+strings.ReplaceAll(strings.TrimSpace(s.Tree(ctx, b.TraceID)), "\n", "\n    ")+"\n")
		}
	}
	if s.cutOff && s.watch != nil {
		line("", "(who watches the events was cut off from the broker, too, and may have missed some)")
	}
	if s.Own && s.Tree == nil {
		set := ""
		if s.Unsafe != "" {
			set = "UNSAFE=" + string(s.Unsafe) + " "
		}
		line("drawn", fmt.Sprintf("%sboxoffice experiment %s --trace", set, e.Name))
	}
}
