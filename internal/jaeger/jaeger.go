// Package jaeger reads traces from Jaeger, version 1 or 2, by the HTTP API that
// its own pages use. It guarantees spans as the rest of boxoffice knows them,
// each once, and errors that say whether Jaeger is there at all
// ([ErrUnreachable]) or only the trace is not ([ErrNoTrace]).
package jaeger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"boxoffice/internal/plain"
	"boxoffice/internal/telemetry"
)

// The errors that callers tell apart.
var (
	ErrUnreachable = errors.New("cannot be reached")
	ErrNoTrace     = errors.New("no such trace")
)

// maxAnswer is more than a booking's trace needs, redelivered as often as may be.
const maxAnswer = 64 << 20

// Client reads from one Jaeger.
type Client struct {
	base *url.URL
	http *http.Client
}

// New makes a Client of the Jaeger whose pages are at a URL such as
// http://localhost:16686.
func New(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of Jaeger; use for example http://localhost:16686", plain.Address(base))
	}
	return &Client{base: u, http: &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		IdleConnTimeout: time.Minute,
	}}}, nil
}

// String is the URL of Jaeger, without a password.
func (c *Client) String() string { return c.base.Redacted() }

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Trace is the spans of a trace that have arrived so far, in no order.
func (c *Client) Trace(ctx context.Context, id string) ([]telemetry.Span, error) {
	target := c.base.JoinPath("api", "traces", url.PathEscape(id)).String()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", target, err)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("%s answers %s, and not as Jaeger does: is it another server?", c.base.Redacted(), res.Status)
	}
	switch {
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusOK && len(a.Data) == 0 && len(a.Errors) == 0:
		return nil, ErrNoTrace
	case res.StatusCode != http.StatusOK, len(a.Data) == 0:
		return nil, fmt.Errorf("Jaeger at %s answers %s%s", c.base.Redacted(), res.Status, a.said()) //nolint:staticcheck // a name
	}
	return a.spans(), nil
}

// unreachable says so without the URL that net/http puts in front, unless the
// caller gave up.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("Jaeger at %s %w: %w", c.base.Redacted(), ErrUnreachable, err) //nolint:staticcheck // a name
}
