package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second // of header and body; net/http ends it with the reading
	writeTimeout      = 90 * time.Second // above the 60 s that a client may ask us to wait
	idleTimeout       = 60 * time.Second
	// closeWait is how long handlers whose connections were cut may take to notice.
	closeWait = time.Second
)

// Serve answers requests on l until ctx ends, then takes no more and lets
// those it took finish, for at most grace; what is still running then is cut,
// which is an error. It closes l, and returns when nothing runs any more.
func Serve(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration) error {
	return serve(ctx, l, h, grace, readTimeout)
}

func serve(ctx context.Context, l net.Listener, h http.Handler, grace, readTimeout time.Duration) error {
	// Requests do not end with ctx: they are what the grace is for.
	working, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var running sync.RWMutex // held by each handler for reading
	fresh := &unused{conns: make(map[net.Conn]struct{})}
	server := &http.Server{
		ConnState:         fresh.track,
		Handler:           waitable(h, &running),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return working },
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // clients' mistakes, such as a TLS greeting
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()

	select {
	case err := <-served:
		cut()
		return errors.Join(fmt.Errorf("serve %s: %w", l.Addr(), err), server.Close())
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	soon := time.AfterFunc(unusedGrace, fresh.close)
	defer soon.Stop()
	err := server.Shutdown(graceful)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests on %s were still running after %s and were cut", l.Addr(), grace), server.Close())
	}
	cut()
	if serving := <-served; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve %s: %w", l.Addr(), serving))
	}
	waitFor(&running, closeWait)
	return err
}

func waitFor(running *sync.RWMutex, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		running.Lock()
		defer running.Unlock()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// waitable lets us wait for the running handlers, which http.Server.Close does not.
func waitable(h http.Handler, running *sync.RWMutex) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.RLock()
		defer running.RUnlock()
		h.ServeHTTP(w, r)
	})
}
