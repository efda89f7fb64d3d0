package experiment

import (
	"strings"
	"testing"

	"boxoffice/internal/lab"
)

func TestConclusion(t *testing.T) {
	broken := []string{"x"}
	for want, r := range map[string]Result{
		"": {Broken: broken, Invariants: []int{1}},
		"it fails, as it should with UNSAFE=ack-first: invariants 1 and 2 are broken":                                {Broken: broken, Invariants: []int{1, 2}, unsafe: lab.AckFirst, shows: true},
		"it fails, as it should with UNSAFE=requeue-now: every invariant holds in the end":                           {Broken: broken, unsafe: lab.RequeueNow, shows: true},
		"it passes, though it should fail with UNSAFE=ack-first":                                                     {unsafe: lab.AckFirst, shows: true},
		"it fails with UNSAFE=ack-first, although it is not about that: invariant 3 is broken":                       {Broken: broken, Invariants: []int{3}, unsafe: lab.AckFirst},
		"it passes, as it is not about what UNSAFE=ack-first turns off: redelivery is":                               {unsafe: lab.AckFirst},
		"it passes, as it is not about what UNSAFE=no-tombstone turns off: late-compensation and late-duplicate are": {unsafe: lab.NoTombstone},
	} {
		if got := r.Conclusion(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
		r.Disturbed = "x"
		if r.Verdict() != "DISTURBED" || r.AsItShould() {
			t.Errorf("%+v: disturbed it is a %s", r, r.Verdict())
		}
		r.Disturbed = ""
		if r.AsItShould() != strings.HasPrefix(want, "it fails, as it should") {
			t.Errorf("%+v: %v", r, r.AsItShould())
		}
	}
}

// It ends with what the safety has to do with it, or else with what to try.
func TestLastLine(t *testing.T) {
	e := Experiment{Name: "redelivery", Unsafe: []lab.Unsafe{lab.AckFirst}}
	for want, test := range map[string]struct {
		r Result
		s Stack
	}{
		"it passes, though it should fail with UNSAFE=ack-first":   {Result{unsafe: lab.AckFirst, shows: true}, Stack{Own: true}},
		"see it fail: UNSAFE=ack-first boxoffice experiment redel": {Result{}, Stack{Own: true}},
		"see it fail: start the services with UNSAFE=ack-first":    {Result{}, Stack{}},
		"so nobody knows whether it passes":                        {Result{Broken: []string{"this"}, Disturbed: "others were there", unsafe: lab.AckFirst, shows: true}, Stack{}},
		"broken: that":                                             {Result{Broken: []string{"this", "that"}}, Stack{Own: true}},
	} {
		var text strings.Builder
		test.r.show(&text, e, test.s)
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); !strings.HasPrefix(last, want) {
			t.Errorf("%q, want %q", last, want)
		}
	}
}
