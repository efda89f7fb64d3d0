package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"boxoffice/services/booking"
	"boxoffice/tickets"
)

// outage is long enough for every pause between two tries to reach its cap.
const outage = 15 * time.Second

// recovery measures how soon a booking is confirmed once the broker's port is
// open again, as often as there are rounds. The broker itself keeps running:
// how long it takes to start is not ours.
func (b *bench) recovery(ctx context.Context) (err error) {
	broker, err := b.vhost(ctx)
	if err != nil {
		return err
	}
	door, err := newPort(ctx, broker)
	if err != nil {
		return err
	}
	defer door.shut()
	p := &platform{}
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	if err := b.services(ctx, p, door.url, mostInFlight); err != nil {
		return err
	}
	clients, err := dialAll(ctx, p.addresses[tickets.Booking], 1, "Prefer: wait=60")
	if err != nil {
		return err
	}
	defer clients.close()
	for round := range b.rounds {
		door.shut()
		done := make(chan error, 1)
		go func() { done <- clients[0].book(ctx, int64(round+1), booking.Confirmed) }()
		select {
		case <-time.After(outage):
		case err := <-done:
			return fmt.Errorf("the booking ended without a broker: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
		opened := time.Now()
		if err := door.open(ctx); err != nil {
			return err
		}
		if err := <-done; err != nil {
			return err
		}
		b.results.recoveries = append(b.results.recoveries, time.Since(opened))
	}
	return nil
}

// port stands before a broker and can be shut.
type port struct {
	url, address, target string

	listener net.Listener
	piping   sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn // nil: it is shut
}

// newPort opens a port of its own before the broker at a URL.
func newPort(ctx context.Context, broker string) (*port, error) {
	u, err := url.Parse(broker)
	if err != nil {
		return nil, fmt.Errorf("the broker's URL: %w", err)
	}
	p := &port{target: u.Host, address: "127.0.0.1:0"}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	p.address = p.listener.Addr().String()
	u.Host = p.address
	p.url = u.String()
	return p, nil
}

func (p *port) open(ctx context.Context) (err error) {
	if p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", p.address); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p.conns = []net.Conn{}
	p.piping.Go(func() { p.accept(p.listener) }) //nolint:contextcheck // it accepts for longer
	return nil
}

func (p *port) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		if p.conns == nil {
			_, _ = in.Close(), out.Close()
		} else {
			p.conns = append(p.conns, in, out)
			p.piping.Go(func() { pipe(in, out) })
			p.piping.Go(func() { pipe(out, in) })
		}
		p.mu.Unlock()
	}
}

func pipe(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until one of them is gone
	_, _ = from.Close(), to.Close()
}

// shut closes the port and cuts what came through it.
func (p *port) shut() {
	_ = p.listener.Close() // it may be shut already
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.piping.Wait()
}
