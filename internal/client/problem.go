package client

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
)

// ProblemError is a refusal of the service, read from its problem document.
type ProblemError struct {
	Type    string       `json:"type"`
	Title   string       `json:"title"`
	Status  int          `json:"status"`
	Detail  string       `json:"detail"`
	Errors  []FieldError `json:"errors"`
	TraceID string       `json:"traceId"`
	// RetryAfter is when to try again; 0 if the service did not say.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is what is wrong with one field.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error is one line for the problem and one for each field.
func (p *ProblemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	if p.RetryAfter > 0 {
		fmt.Fprintf(&b, " (again in %s)", p.RetryAfter)
	}
	if p.TraceID != "" {
		b.WriteString(" (trace " + p.TraceID + ")")
	}
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "\n  %s: %s", e.Field, e.Detail)
	}
	return b.String()
}

// readProblem makes an error of an answer that is none of the 200s.
func (c *Client) readProblem(res *http.Response, body []byte) error {
	p := &ProblemError{}
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || media != "application/problem+json" || json.Unmarshal(body, p) != nil {
		if !refusal(res.StatusCode) {
			return c.stranger(res)
		}
		// What stands in front of a service, such as a proxy, refuses in its own words.
		p = &ProblemError{Detail: "not in the words of a " + c.what + " service, but perhaps of a proxy in front of it"}
	}
	p.Status = res.StatusCode
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	p.RetryAfter = retryAfter(res.Header, time.Now())
	return p
}

// Refused reports whether the service did nothing, and may do it later.
func (p *ProblemError) Refused() bool { return refusal(p.Status) }

func refusal(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}
