// Package client talks to a running booking service. It guarantees that every
// error says what happened in words for a person: a refusal of the service is a
// [*ProblemError] with its fields, and a service that cannot be reached is
// [ErrUnreachable].
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"boxoffice/messaging"
)

// ErrUnreachable is the error, wrapped, of a service that does not answer.
var ErrUnreachable = errors.New("cannot be reached")

// maxBody is more than any answer to a client needs.
const maxBody = 4 << 20

// Wish is what is to be booked.
type Wish struct {
	Seat     int              `json:"seat"`
	Customer string           `json:"customer"`
	Amount   messaging.Amount `json:"amount"`
}

// Booking is a booking as the service shows it.
type Booking struct {
	ID           string           `json:"id"`
	Seat         int              `json:"seat"`
	Customer     string           `json:"customer"`
	Amount       messaging.Amount `json:"amount"`
	Status       string           `json:"status"` // Pending, Confirmed, Rejected or Cancelled
	Reason       string           `json:"reason"`
	SeatReleased bool             `json:"seatReleased"`
	TraceID      string           `json:"traceId"`
	CreatedAt    time.Time        `json:"createdAt"`
	UpdatedAt    time.Time        `json:"updatedAt"`
}

// Finished reports whether nothing more will happen to the booking.
func (b Booking) Finished() bool {
	switch b.Status {
	case "Confirmed", "Rejected":
		return true
	case "Cancelled":
		return b.SeatReleased
	}
	return false
}

// Client talks to one service. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// New makes a Client of the service at a URL such as http://127.0.0.1:5200.
func New(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a service; use for example http://127.0.0.1:5200", base)
	}
	return &Client{base: u, http: &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		IdleConnTimeout: time.Minute,
	}}}, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Book asks for a booking. A nil error means that it was accepted.
func (c *Client) Book(ctx context.Context, w Wish) (Booking, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return Booking{}, fmt.Errorf("encode the booking: %w", err)
	}
	var b Booking
	err = c.do(ctx, http.MethodPost, "bookings", body, &b)
	return b, err
}

// Booking looks a booking up.
func (c *Client) Booking(ctx context.Context, id string) (Booking, error) {
	var b Booking
	err := c.do(ctx, http.MethodGet, "bookings/"+url.PathEscape(id), nil, &b)
	return b, err
}

// Get reads the JSON document at path into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.do(ctx, http.MethodGet, path, nil, v)
}

// Health asks once whether the service is ready, or for what else its URL's
// path stands, and returns the status that it states.
func (c *Client) Health(ctx context.Context) (string, error) {
	path := ""
	if c.base.Path == "" || c.base.Path == "/" {
		path = "ready"
	}
	var answer struct{ Status string }
	err := c.do(ctx, http.MethodGet, path, nil, &answer)
	return answer.Status, err
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, v any) error {
	target := c.base.JoinPath(path).String()
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request %s: %w", target, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
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
		return readProblem(target, res, answer)
	}
	if err := json.Unmarshal(answer, v); err != nil {
		return fmt.Errorf("%s does not answer as boxoffice does: %w", target, err)
	}
	return nil
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
	return fmt.Errorf("%s %w: %w", c.base.Redacted(), ErrUnreachable, err)
}
