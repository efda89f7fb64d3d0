package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	neturl "net/url"
	"sync"
	"testing"
)

// amqpProxy stands between a command and its broker and stops at a confirm: the
// broker has stored the message, and the command does not know it yet.
type amqpProxy struct {
	url     string
	reached chan struct{} // closes when the confirm is there

	listener net.Listener
	target   string
	cut      bool // ends all connections at the confirm; else it is held
	tasks    sync.WaitGroup

	mu       sync.Mutex
	confirms int // until then
	conns    []net.Conn
	closed   bool
	release  chan struct{} // closes at the end of the test
}

// newAMQPProxy makes a proxy that stops at the n-th confirm.
func newAMQPProxy(t *testing.T, url string, n int, cut bool) *amqpProxy {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	p := &amqpProxy{
		target: u.Host, reached: make(chan struct{}), release: make(chan struct{}), confirms: n, cut: cut,
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.url = u.String()
	p.tasks.Go(p.accept)
	t.Cleanup(func() {
		close(p.release)
		p.end()
		p.tasks.Wait()
	})
	return p
}

func (p *amqpProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(client, server) {
			_ = client.Close()
			continue
		}
		p.tasks.Go(func() {
			defer func() { _, _ = client.Close(), server.Close() }()
			_, _ = io.Copy(server, client) // ends with either
		})
		p.tasks.Go(func() {
			defer func() { _, _ = client.Close(), server.Close() }()
			p.answers(client, bufio.NewReader(server))
		})
	}
}

// keep is false, and closes both, when the proxy has ended.
func (p *amqpProxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.conns = append(p.conns, client, server)
	return true
}

// answers passes the broker's frames on: type, channel and size, then the
// payload, of which class and method are the first, then an end octet.
func (p *amqpProxy) answers(client io.Writer, server *bufio.Reader) {
	for {
		header, err := server.Peek(7)
		if err != nil {
			return
		}
		frame := make([]byte, 7+binary.BigEndian.Uint32(header[3:])+1)
		if _, err := io.ReadFull(server, frame); err != nil {
			return
		}
		const method, basic, ack = 1, 60, 80
		if frame[0] == method && binary.BigEndian.Uint16(frame[7:]) == basic && binary.BigEndian.Uint16(frame[9:]) == ack && p.stops() {
			close(p.reached)
			if p.cut {
				p.end()
			}
			<-p.release
			return
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

func (p *amqpProxy) stops() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.confirms--
	return p.confirms == 0
}

// end closes everything, and takes no new connections.
func (p *amqpProxy) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}
