package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"boxoffice/services/booking"
)

// conn is one keep-alive connection that makes one request after the other.
// It does as little as it can: it shares its processors with what is measured.
type conn struct {
	net.Conn

	reader *bufio.Reader
	head   string
	buffer bytes.Buffer
}

type clients []*conn

// dialAll connects clients that send an additional header, if there is one.
func dialAll(ctx context.Context, address string, n int, header string) (clients, error) {
	head := "POST /bookings HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\n"
	if header != "" {
		head += header + "\r\n"
	}
	var all clients
	for range n {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			all.close()
			return nil, fmt.Errorf("connect a client: %w", err)
		}
		all = append(all, &conn{Conn: c, reader: bufio.NewReader(c), head: head})
	}
	return all, nil
}

func (all clients) close() {
	for _, c := range all {
		_ = c.Close() // nothing is under way
	}
}

// book posts a booking of a seat, and fails unless the answer is 202 with this status.
func (c *conn) book(ctx context.Context, seat int64, want booking.Status) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return fmt.Errorf("set a deadline: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	code, body, err := c.post(fmt.Sprintf(`{"seat":%d,"customer":"customer","amount":450}`, seat))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("POST /bookings: %w", err)
	case code != http.StatusAccepted || !bytes.Contains(body, []byte(`"status":"`+string(want)+`"`)):
		return fmt.Errorf("POST /bookings: want %s, got %d %s", want, code, body)
	}
	return nil
}

func (c *conn) post(body string) (code int, answer []byte, err error) {
	c.buffer.Reset()
	fmt.Fprintf(&c.buffer, "%sContent-Length: %d\r\n\r\n%s", c.head, len(body), body)
	if _, err := c.Write(c.buffer.Bytes()); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}
