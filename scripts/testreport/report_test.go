package main

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in, want string
		ok       bool
	}{
		"passing tests stay quiet": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			want: "ok  \tp\t0.1s\n1 tests passed, 0 failed, 0 skipped\n",
			ok:   true,
		},
		"a failed test is heard": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`,
			want: "why\nFAIL\tp\t0.1s\n0 tests passed, 1 failed, 0 skipped\n",
		},
		"a test that a panic ended is heard": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: x\n"}
{"Action":"fail","Package":"p"}`,
			want: "panic: x\n0 tests passed, 1 failed, 0 skipped\n",
		},
		"a skipped test is a failure": {
			in:   `{"Action":"skip","Package":"p","Test":"TestA"}`,
			want: "SKIPPED, and nothing may be skipped: p TestA\n0 tests passed, 0 failed, 1 skipped\n",
		},
		"a package without tests is not": {
			in:   `{"Action":"skip","Package":"p"}`,
			want: "0 tests passed, 0 failed, 0 skipped\n",
			ok:   true,
		},
		"a package that does not build": {
			in: `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: no\n"}
{"ImportPath":"p","Action":"build-fail"}`,
			want: "p.go:1: no\n0 tests passed, 0 failed, 0 skipped\n",
		},
		"what is not JSON is passed on": {
			in:   "go: no such package\n",
			want: "go: no such package\n0 tests passed, 0 failed, 0 skipped\n",
			ok:   true, // go test's own exit status tells
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(tc.in), nil); err != nil {
				t.Fatal(err)
			}
			if ok := r.end(); ok != tc.ok || out.String() != tc.want {
				t.Errorf("ok %t, want %t; printed\n%s\nwant\n%s", ok, tc.ok, out.String(), tc.want)
			}
		})
	}
}

func TestProgressNamesWhatRuns(t *testing.T) {
	t.Parallel()
	began := time.Now()
	p := newProgress(began)
	if got, want := p.line(0, began.Add(40*time.Second)), "… 40s: compiling\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.note(event{Action: "start", Package: "quick"}, began.Add(time.Second))
	p.note(event{Action: "start", Package: "slow"}, began.Add(2*time.Second))
	p.note(event{Action: "start", Package: "slower"}, began.Add(time.Second))
	p.note(event{Action: "pass", Package: "slow", Test: "TestA"}, began.Add(3*time.Second))
	p.note(event{Action: "pass", Package: "quick"}, began.Add(3*time.Second))
	want := "… 1m0s: 1 packages done, 7 tests passed; running slower (59s), slow (58s)\n"
	if got := p.line(7, began.Add(time.Minute)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
