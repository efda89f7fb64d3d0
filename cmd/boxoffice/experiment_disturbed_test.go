package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"boxoffice/internal/experiment"
)

// halting is a way to the booking service that halts the first booking, until
// release is called, and says when it has.
func halting(t *testing.T, target string) (address string, halted <-chan struct{}, release func()) {
	t.Helper()
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	arrived, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	forward := httputil.NewSingleHostReverseProxy(at)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/bookings" {
			first.Do(func() {
				close(arrived)
				<-goOn
			})
		}
		forward.ServeHTTP(w, r)
	}))
	release = sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(func() {
		release()
		proxy.Close()
	})
	return proxy.URL, arrived, release
}

// Of two experiments on one stack the one that met the other's bookings says so,
// and blames nobody; the next one of the same command is none the worse.
func TestTwoExperimentsOnOneStack(t *testing.T) {
	t.Parallel()
	_, at := labStack(t, "LOG_LEVEL=error")
	address, halted, release := halting(t, strings.TrimPrefix(at[0], "--url="))
	first := start(t, nil, append(experimentArgs("compensation", "redelivery"), "--url="+address, at[1], at[2])...)
	select {
	case <-halted:
	case <-first.ended:
		t.Fatal("it has not booked")
	}
	if code, stdout, stderr := boxoffice(t, nil, append(experimentArgs("double-booking"), at...)...); code != 0 {
		t.Errorf("the other: exit %d\n%s%s", code, stdout, stderr)
	}
	release()
	code, stdout, stderr := first.exit(), first.out.String(), first.err.String()
	if code != exitUnanswered || stderr != "boxoffice: 1 of 2 disturbed by others\n" ||
		!strings.Contains(stdout, "\nDISTURBED  compensation  ") || strings.Contains(stdout, "FAIL  ") ||
		!strings.Contains(stdout, "\n      disturbed: 50 bookings that are not of this experiment were made meanwhile\n      ") ||
		!strings.Contains(stdout, "\nPASS  redelivery  ") || !strings.Contains(stdout, "\nDISTURBED  compensation  ") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestHowExperimentsEnd(t *testing.T) {
	t.Parallel()
	pass, fail, disturbed := experiment.Result{}, experiment.Result{Broken: []string{"x"}}, experiment.Result{Broken: []string{"x"}, Disturbed: "y"}
	for _, test := range []struct {
		results []experiment.Result
		not     int
		code    int
		want    string
	}{
		{[]experiment.Result{pass, pass}, 0, 0, ""},
		{[]experiment.Result{pass, disturbed}, 0, exitUnanswered, "1 of 2 disturbed by others"},
		{[]experiment.Result{disturbed, pass}, 1, exitUnanswered, "1 of 3 disturbed by others\n1 of 3 could not be tried"},
		{[]experiment.Result{disturbed, fail}, 1, exitFailed, "1 of 3 failed\n1 of 3 disturbed by others\n1 of 3 could not be tried"},
	} {
		var all tally
		for _, r := range test.results {
			all.add(r)
		}
		for range test.not {
			all.untried(experiment.Experiment{})
		}
		code, text := 0, ""
		if err := all.err(len(test.results)+test.not, ""); err != nil {
			code, text = exitFailed, err.Error()
			if coded, ok := errors.AsType[*codedError](err); ok {
				code = coded.code
			}
		}
		if code != test.code || text != test.want {
			t.Errorf("%+v: exit %d %s", test, code, text)
		}
	}
}
