package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// maxBody is more than any answer to a client needs.
const maxBody = 4 << 20

type request struct {
	method, path string
	query        url.Values
	body         []byte
	fault        string // the X-Lab-Fault header, or ""
}

// do makes a request and reads the answer into v, unless v is nil.
func (c *Client) do(ctx context.Context, q request, v any) error {
	target := c.base.JoinPath(q.path)
	target.RawQuery = q.query.Encode()
	r, err := http.NewRequestWithContext(ctx, q.method, target.String(), bytes.NewReader(q.body))
	if err != nil {
		return fmt.Errorf("request %s: %w", target, err)
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.fault != "" {
		r.Header.Set("X-Lab-Fault", q.fault)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return c.readProblem(res, answer)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(answer, v); err != nil {
		return c.stranger(res)
	}
	return nil
}

// unreachable says so without the URL that net/http puts in front, unless the
// caller gave up.
func (c *Client) unreachable(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	late := errors.Is(cause, context.DeadlineExceeded)
	if cause != nil && cause != context.DeadlineExceeded { //nolint:errorlint // whose text says nothing to a person
		return cause
	}
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	dial, ok := errors.AsType[*net.OpError](err)
	sent := !ok || dial.Op != "dial"
	switch {
	case late && sent:
		return &silence{c.String() + " gave no answer in time", []error{ErrUnanswered, cause}}
	case late:
		return &silence{c.String() + " cannot be reached in time", []error{ErrUnreachable, cause}}
	case sent:
		return &silence{fmt.Sprintf("%s gave no answer: %v", c, err), []error{ErrUnanswered, ErrUnreachable, err}}
	}
	return fmt.Errorf("%s %w: %w", c, ErrUnreachable, err)
}

// silence is an error for people, and for those who look what it is.
type silence struct {
	text string
	is   []error
}

func (s *silence) Error() string   { return s.text }
func (s *silence) Unwrap() []error { return s.is }
