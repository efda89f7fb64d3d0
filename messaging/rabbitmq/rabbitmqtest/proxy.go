package rabbitmqtest

import (
	"net"
	neturl "net/url"
	"slices"
	"sync"
	"testing"
)

// Proxy stands between a Broker and its server, and fails as networks do: it can
// freeze, cut every connection, and be down.
type Proxy struct {
	URL      string
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
	down   bool          // new connections are closed at once
	thawed chan struct{} // closed when it is not frozen
}

// NewProxy makes a proxy before the server at url, which ends with the test.
func NewProxy(t testing.TB, url string) *Proxy {
	t.Helper()
	return NewProxyAt(t, "127.0.0.1:0", url)
}

// NewProxyAt is NewProxy at an address of one's own.
func NewProxyAt(t testing.TB, address, url string) *Proxy {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: u.Host, thawed: make(chan struct{})}
	close(p.thawed)
	p.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.URL = u.String()
	p.tasks.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			continue
		}
		p.tasks.Go(func() { p.pipe(client, server) })
		p.tasks.Go(func() { p.pipe(server, client) })
	}
}

// keep is false, and closes both, when the proxy is down or has closed meanwhile.
func (p *Proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.down {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.conns = append(p.conns, client, server)
	return true
}

// Cut closes every connection, as a failing network would.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// Down cuts every connection and lets none in until Up.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	p.cut()
}

// Up ends what Down began.
func (p *Proxy) Up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// Connections tells the open connections apart, by the addresses of their clients.
func (p *Proxy) Connections() (clients []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		clients = append(clients, c.LocalAddr().String()+"-"+c.RemoteAddr().String())
	}
	return clients
}

// forget drops a connection that has ended.
func (p *Proxy) forget(ended net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(c net.Conn) bool { return c == ended })
}

func (p *Proxy) pipe(from, to net.Conn) {
	defer func() {
		_, _ = from.Close(), to.Close()
		p.forget(from)
	}()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		thawed := p.thawed
		p.mu.Unlock()
		<-thawed
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Freeze stops all traffic until Thaw: connections
// stay open, but nothing moves on them any more, as with a hung peer.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thawed = make(chan struct{})
}

// Thaw ends what Freeze began.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.Thaw()
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.cut()
	p.mu.Unlock()
	p.tasks.Wait()
}
