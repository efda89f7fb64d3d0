package rabbitmq_test

import (
	"net"
	neturl "net/url"
	"sync"
	"testing"
)

// proxy stands between a Broker and its server and can freeze: connections
// stay open, but nothing moves on them any more, as with a hung peer.
type proxy struct {
	url      string
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
	thawed chan struct{} // closed when it is not frozen
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	return newProxyAt(t, "127.0.0.1:0", url)
}

func newProxyAt(t *testing.T, address, url string) *proxy {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, thawed: make(chan struct{})}
	close(p.thawed)
	p.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.url = u.String()
	p.tasks.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
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
			return
		}
		p.tasks.Go(func() { p.pipe(client, server) })
		p.tasks.Go(func() { p.pipe(server, client) })
	}
}

// keep is false, and closes both, when the proxy has closed meanwhile.
func (p *proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.conns = append(p.conns, client, server)
	return true
}

func (p *proxy) pipe(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
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

// freeze stops all traffic until thaw.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thawed = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

func (p *proxy) close() {
	p.thaw()
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.tasks.Wait()
}
