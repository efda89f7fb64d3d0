package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// StrangerError is something that answers, but is not the service that was asked for.
type StrangerError struct {
	URL     string // where it answers, without a password
	Service string // what it should be
	Answer  string // what it said, to which request
}

func (s *StrangerError) Error() string {
	return fmt.Sprintf("%s answers, but is no %s service (%s)", s.URL, s.Service, s.Answer)
}

func (c *Client) stranger(res *http.Response) error {
	answer := fmt.Sprintf("%s %s: %s", res.Request.Method, cmp.Or(res.Request.URL.Path, "/"), res.Status)
	if media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil {
		answer += ", " + media
	}
	return c.Stranger(answer)
}

// Stranger is the error of an answer that the service would not have given.
func (c *Client) Stranger(answer string) error {
	return &StrangerError{URL: c.String(), Service: c.what, Answer: answer}
}

// known is err of a path that the service surely has: who does not know it, as
// another of our services, is a stranger. The service's own 404 has a detail.
func (c *Client) known(q request, err error) error {
	p, ok := errors.AsType[*ProblemError](err)
	if ok && p.Detail == "" && (p.Status == http.StatusNotFound || p.Status == http.StatusMethodNotAllowed) {
		return c.Stranger(fmt.Sprintf("%s /%s: %d %s", q.method, q.path, p.Status, p.Title))
	}
	return err
}

// booking makes a request whose answer is a booking.
func (c *Client) booking(ctx context.Context, q request) (Booking, error) {
	var b Booking
	if err := c.do(ctx, q, &b); err != nil {
		return b, c.known(q, err)
	}
	if b.ID == "" {
		return b, c.Stranger(q.method + " /" + q.path + ": no booking")
	}
	return b, nil
}
