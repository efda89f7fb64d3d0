package rabbitmq_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	neturl "net/url"
	"sync"
	"testing"
	"time"
)

// slowDeliveries is a URL by way of which each delivery comes late, one after
// the other, and everything else at once: as from a node that follows behind the
// queue's leader.
func slowDeliveries(t *testing.T, url string, each time.Duration) string {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	var mu sync.Mutex
	var all []net.Conn
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range all {
			_ = c.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	target := u.Host
	tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			all = append(all, client, server)
			mu.Unlock()
			tasks.Go(func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			})
			tasks.Go(func() {
				defer func() { _ = client.Close() }()
				slowDown(client, server, each)
			})
		}
	})
	u.Host = listener.Addr().String()
	return u.String()
}

// slowDown passes frames on to a client.
func slowDown(client io.Writer, server io.Reader, each time.Duration) {
	const method, header, body = 1, 2, 3
	var writing sync.Mutex
	write := func(frame []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = client.Write(frame) // a client that is gone is seen by who reads from it
	}
	late := make(chan []byte, 1<<12)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer close(late)
	tasks.Go(func() {
		for frame := range late {
			if frame[0] == method {
				<-time.After(each)
			}
			write(frame)
		}
	})
	for reader := bufio.NewReader(server); ; {
		start, err := reader.Peek(7)
		if err != nil {
			return
		}
		frame := make([]byte, 7+binary.BigEndian.Uint32(start[3:])+1)
		if _, err := io.ReadFull(reader, frame); err != nil {
			return
		}
		delivery := frame[0] == method && binary.BigEndian.Uint32(frame[7:]) == 60<<16|60 // basic.deliver
		if delivery || frame[0] == header || frame[0] == body {
			late <- frame
		} else {
			write(frame)
		}
	}
}
