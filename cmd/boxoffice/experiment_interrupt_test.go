package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/client"
)

// Ctrl-C in the middle mends what was broken on purpose.
func TestInterruptedExperiment(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("STALL_AFTER=1h", "ADMISSION_ACTIVE=2", "ADMISSION_WAITING=3", "BANK_DELAY=1ms"), "up")
	at := []string{"--url=" + up.url("booking"), "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments")}
	c, err := client.New(up.url("booking"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct{ name, until, mended string }{
		{"door", "nothing finishes: after STALL_AFTER", "clean up: the bank's gate opens"},
		{"bank-outage", "it fails before the charge", "clean up: the bank answers again"},
	} {
		x := start(t, nil, append(experimentArgs(test.name), at...)...)
		x.out.find(t, test.until)
		x.signal(syscall.SIGINT)
		if code := x.exit(); code != exitInterrupted || !strings.Contains(x.out.String(), test.mended) ||
			x.err.String() != "boxoffice: interrupted; what was broken on purpose is mended, and the bookings stay: boxoffice reset empties the services\n" {
			t.Errorf("%s: exit %d", test.name, code)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if why, err := c.Quiet(ctx, patience, nil); err != nil || why != "" {
			t.Errorf("after %s it does not come to rest: %s %v", test.name, why, err)
		}
		cancel()
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"verify"}, at...)...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// A message that was parked on purpose is redriven.
func TestInterruptedPoison(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("BANK_DELAY=1ms"), "up")
	target, err := url.Parse(up.url("booking"))
	if err != nil {
		t.Fatal(err)
	}
	// It is interrupted when it looks for the parked message.
	var x *command
	started := make(chan struct{})
	var once sync.Once
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lab/dead" && r.URL.Query().Get("id") != uuid.Nil.String() {
			<-started
			once.Do(func() { x.signal(syscall.SIGINT) })
			<-r.Context().Done()
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	x = start(t, nil, append(experimentArgs("poison"), "--url="+proxy.URL, "--seats-url="+up.url("seats"), "--payments-url="+up.url("payments"))...)
	close(started)
	if code := x.exit(); code != exitInterrupted || !strings.Contains(x.out.String(), "clean up: the message is redriven, without its fault script") {
		t.Errorf("exit %d", code)
	}
	c, err := client.New(target.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if why, err := c.Quiet(t.Context(), patience, nil); err != nil || why != "" {
		t.Errorf("it does not come to rest: %s %v", why, err)
	}
}
