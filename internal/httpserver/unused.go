package httpserver

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// unusedGrace is how long, at the end, a connection may take to begin its first request.
const unusedGrace = 500 * time.Millisecond

// unused are the connections on which no request has begun. Browsers and
// clients with a pool open some that they may never use. http.Server.Shutdown
// waits 5 s for a request on them, as long as our whole grace.
type unused struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// track is a server's ConnState.
func (u *unused) track(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state == http.StateNew {
		u.conns[c] = struct{}{}
	} else {
		delete(u.conns, c)
	}
}

// close closes them, once no new ones are accepted.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close() // nobody uses it
	}
}
