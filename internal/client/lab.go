package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Query reads the JSON document at path, as the query asks for it, into v.
func (c *Client) Query(ctx context.Context, path string, query url.Values, v any) error {
	return c.do(ctx, request{method: http.MethodGet, path: path, query: query}, v)
}

// Ask is Query of a path that the service surely has: who does not know it is
// a [*StrangerError].
func (c *Client) Ask(ctx context.Context, path string, query url.Values, v any) error {
	q := request{method: http.MethodGet, path: path, query: query}
	return c.known(q, c.do(ctx, q, v))
}

// Send posts a JSON document to path and reads the answer into v.
func (c *Client) Send(ctx context.Context, path string, document, v any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	return c.do(ctx, request{method: http.MethodPost, path: path, body: body}, v)
}

// OpenGate opens the gate in front of the bank of a payments service whose lab is on.
func (c *Client) OpenGate(ctx context.Context) error { return c.Post(ctx, "lab/gate/open") }

// FailBank makes that bank fail so likely, from 0 to 1, "before" or "after" each charge.
func (c *Client) FailBank(ctx context.Context, likely float64, when string) error {
	return c.Send(ctx, "lab/bank", map[string]any{"failure": likely, "when": when}, nil)
}

// MendBank makes that bank fail no more.
func (c *Client) MendBank(ctx context.Context) error { return c.FailBank(ctx, 0, "before") }
