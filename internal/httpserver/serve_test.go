package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type answer struct {
	status int
	err    error
}

// request sends one on a connection of its own.
func request(l net.Listener, body io.Reader) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		transport := &http.Transport{DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Post("http://"+l.Addr().String(), "text/plain", body)
		if err != nil {
			got <- answer{err: err}
			return
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		got <- answer{res.StatusCode, err}
	}()
	return got
}

func TestServeFinishesWhatItTook(t *testing.T) {
	l := listen(t)
	started, finish := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-finish
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, time.Minute) }()
	got := request(l, nil)
	<-started
	stop()
	for { // refused from now on
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(finish)
	if a := <-got; a.err != nil || a.status != 200 {
		t.Errorf("answer %+v", a)
	}
	if err := <-served; err != nil {
		t.Errorf("a clean stop returned %v", err)
	}
}

func TestServeCutsAfterItsGrace(t *testing.T) {
	l := listen(t)
	started, ended := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(ended)
	})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, 20*time.Millisecond) }()
	got := request(l, nil)
	<-started
	stop()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "were cut") {
		t.Errorf("returned %v", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Serve returned before its handler")
	}
	if a := <-got; a.err == nil {
		t.Errorf("answer %+v", a)
	}
}

func TestServeReportsADeadListener(t *testing.T) {
	l := listen(t)
	_ = l.Close()
	if err := Serve(context.Background(), l, http.NotFoundHandler(), time.Second); err == nil {
		t.Error("no error")
	}
}

// The read timeout is for reading: a handler may take longer to answer.
func TestWaitingOutlastsTheReadTimeout(t *testing.T) {
	const limit = 50 * time.Millisecond
	for name, body := range map[string]string{"no body": "", "body": "x"} {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				select {
				case <-r.Context().Done():
					w.WriteHeader(http.StatusTeapot)
				case <-time.After(4 * limit):
				}
			})
			ctx, stop := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- serve(ctx, l, h, time.Minute, limit) }()
			if a := <-request(l, strings.NewReader(body)); a.err != nil || a.status != 200 {
				t.Errorf("answer %+v", a)
			}
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// A body that never comes does not hold a connection for ever.
func TestSlowBodyIsGivenUp(t *testing.T) {
	l := listen(t)
	failed := make(chan error, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
	})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, h, time.Minute, 50*time.Millisecond) }()
	slow, slowly := io.Pipe()
	got := request(l, slow)
	if err := <-failed; err == nil {
		t.Error("the handler read a whole body")
	}
	_ = slowly.Close()
	<-got
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Shutdown itself would wait for longer than the grace.
func TestServeEndsInSpiteOfUnusedConnections(t *testing.T) {
	l := listen(t)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, http.NotFoundHandler(), 3*time.Second) }()
	unused, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unused.Close() }()
	if a := <-request(l, nil); a.status != http.StatusNotFound { // accepted after the unused one
		t.Fatal(a)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
