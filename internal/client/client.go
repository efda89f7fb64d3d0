// Package client talks to a running booking service. It guarantees that every
// error says what happened in words for a person: a refusal of the service is a
// [*ProblemError] with its fields, a service that cannot be reached is
// [ErrUnreachable], and who answers without being that service is a [*StrangerError].
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"boxoffice/internal/plain"
	"boxoffice/tickets"
)

// The errors, wrapped, of a service that does not answer.
var (
	ErrUnreachable = errors.New("cannot be reached")
	// ErrUnanswered is that of a request which may have been carried out.
	ErrUnanswered = errors.New("gave no answer")
)

// Client talks to one service. It is safe for concurrent use.
type Client struct {
	base *url.URL
	what string // what it takes the service for
	http *http.Client
}

// Option changes how a Client works.
type Option func(*Client, *http.Transport)

// Of says which service is meant, if it is not booking.
func Of(service string) Option {
	return func(c *Client, _ *http.Transport) { c.what = service }
}

// Connections lets a Client keep so many connections open, for callers that
// make as many requests at a time.
func Connections(n int) Option {
	return func(_ *Client, t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = n, n }
}

// New makes a Client of the service at a URL such as http://127.0.0.1:5200.
func New(base string, options ...Option) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a service; use for example http://127.0.0.1:5200", plain.Address(base))
	}
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		IdleConnTimeout: time.Minute,
	}
	c := &Client{base: u, what: tickets.Booking, http: &http.Client{Transport: transport}}
	for _, o := range options {
		o(c, transport)
	}
	return c, nil
}

// String is the URL of the service, without a password.
func (c *Client) String() string { return c.base.Redacted() }

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads the JSON document at path into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.do(ctx, request{method: http.MethodGet, path: path}, v)
}

// Post asks for something that has no answer but that it is done.
func (c *Client) Post(ctx context.Context, path string) error {
	return c.do(ctx, request{method: http.MethodPost, path: path}, nil)
}

// Check asks whether Post would be done, and changes nothing.
func (c *Client) Check(ctx context.Context, path string) error {
	return c.do(ctx, request{method: http.MethodPost, path: path, query: url.Values{"check": {"true"}}}, nil)
}

// Health asks once whether the service is ready, or for what else its URL's
// path stands, and returns the status that it states.
func (c *Client) Health(ctx context.Context) (string, error) {
	path := ""
	if c.base.Path == "" || c.base.Path == "/" {
		path = "ready"
	}
	var answer struct{ Status string }
	err := c.do(ctx, request{method: http.MethodGet, path: path}, &answer)
	return answer.Status, err
}
