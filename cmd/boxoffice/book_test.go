package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

// A fault script that nobody would heed is refused.
func TestBookWithAFaultNeedsTheLab(t *testing.T) {
	t.Parallel()
	_, services := labStack(t, "LAB=off")
	args := []string{"book", "--seat=1", "--amount=1", "--customer=a", "--fault=seats.BookingCreated=fail", services[0]}
	code, stdout, stderr := boxoffice(t, nil, args...)
	if code != exitUsage || stdout != "" || stderr != "boxoffice: --fault: the lab of booking is off: start the services with LAB=on\n" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	_, services = labStack(t, "RETRY_DELAYS=1ms")
	args[len(args)-1] = services[0]
	if code, stdout, stderr := boxoffice(t, nil, args...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	args[len(args)-1] = "--url=http://127.0.0.1:1"
	if code, _, stderr := boxoffice(t, nil, args...); code != exitFailed || !strings.HasSuffix(stderr, "; start the services with: boxoffice up\n") {
		t.Errorf("exit %d %s", code, stderr)
	}
}

// Who gets no answer is told what that means.
func TestBookWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const unknown = "it may have booked all the same: GET /bookings lists what there is\n"
	silent := func() (asked chan struct{}, args []string) {
		asked = make(chan struct{}, 1)
		service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the client has left
			asked <- struct{}{}
			<-r.Context().Done()
		}))
		t.Cleanup(service.Close)
		return asked, []string{"book", "--seat=1", "--amount=1", "--customer=a", "--url", service.URL}
	}
	_, args := silent()
	code, _, stderr := boxoffice(t, nil, append(args, "--timeout=50ms")...)
	want := "boxoffice: " + args[len(args)-1] + " gave no answer in time; " + unknown
	if code != exitFailed || stderr != want {
		t.Errorf("exit %d, said %q, want %q", code, stderr, want)
	}
	dying := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler) // as a process that is killed after its commit
	}))
	defer dying.Close()
	args[len(args)-1] = dying.URL
	code, _, stderr = boxoffice(t, nil, args...)
	if want := "boxoffice: " + dying.URL + " gave no answer: EOF; " + unknown; code != exitFailed || stderr != want {
		t.Errorf("exit %d, said %q, want %q", code, stderr, want)
	}
	asked, args := silent()
	c := start(t, nil, args...)
	wait(t, asked, "the request")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != exitInterrupted || c.err.String() != "boxoffice: interrupted; the service had not answered, and "+unknown {
		t.Errorf("exit %d, said %q", code, c.err)
	}
}

// What takes long says so, and where to look.
func TestBookShowsThatItWaits(t *testing.T) {
	t.Parallel()
	status := make(chan string, 1)
	status <- "Pending"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s := <-status:
			fmt.Fprintf(w, `{"id":"b1","seat":1,"customer":"a","status":%q,"traceId":"t1"}`, s)
		case <-r.Context().Done():
		}
	}))
	defer service.Close()
	c := start(t, nil, "book", "--seat=1", "--amount=1", "--customer=a", "--url", service.URL)
	c.err.find(t, "^booking b1 is not finished after [2-9] s; where it stands: boxoffice explain b1 --url "+service.URL+"$")
	status <- "Confirmed"
	if code := c.exit(); code != 0 || strings.Contains(c.err.String(), "\n\n") || strings.HasPrefix(c.err.String(), "\n") {
		t.Errorf("exit %d, said %q", code, c.err)
	}
}

// With Jaeger, the trace is a link.
func TestBookSaysWhereItsTraceIs(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"b1","seat":1,"customer":"a","status":"Confirmed","traceId":"t1"}`)
	}))
	defer service.Close()
	book := []string{"book", "--seat=1", "--amount=1", "--customer=a", "--url", service.URL}
	for want, variables := range map[string][]string{
		"trace t1\n": nil,
		"trace http://localhost:16686/trace/t1\n": {"JAEGER_URL=http://localhost:16686/"},
	} {
		c := start(t, variables, book...)
		if code := c.exit(); code != 0 {
			t.Fatalf("exit %d, said %s", code, c.err)
		}
		c.out.find(t, "^"+want)
	}
}
