package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/incident"
	"boxoffice/internal/telemetry"
)

// The types of problems that have a meaning beyond their status. Clients may
// rely on them.
const (
	TypeMalformed  = "urn:boxoffice:problem:malformed"  // 400: not readable at all
	TypeValidation = "urn:boxoffice:problem:validation" // 422: readable, with wrong values, named in errors
	TypeNotReady   = "urn:boxoffice:problem:not-ready"  // 503 of GET /ready

	TypeCrossOrigin = "urn:boxoffice:problem:cross-origin"     // 403: a page of another origin wants to change something
	TypeHost        = "urn:boxoffice:problem:host-not-allowed" // 403: the Host may be a stranger's, and the lab is on
)

// MediaTypeProblem is the content type of every error.
const MediaTypeProblem = "application/problem+json"

// Problem is an error that a client is told of, as RFC 9457 has it. Handlers
// return one; any other error becomes a 500 that says nothing.
type Problem struct {
	Type   string       `json:"type"`  // "": about:blank
	Title  string       `json:"title"` // "": the text of the status
	Status int          `json:"status"`
	Detail string       `json:"detail,omitempty"`
	Errors []FieldError `json:"errors,omitempty"`
	// TraceID helps to find a failure of ours; the handler fills it in.
	TraceID string `json:"traceId,omitempty"`
	// RetryAfter, if positive, becomes the Retry-After header, in whole seconds.
	RetryAfter time.Duration `json:"-"`
	// Cause is logged and never shown.
	Cause error `json:"-"`
}

// FieldError is what is wrong with one field.
type FieldError struct {
	Field  string    `json:"field"`
	Detail string    `json:"detail"`
	Since  time.Time `json:"since,omitzero"` // of GET /ready: since when it has been so
}

func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, http.StatusText(p.Status))
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	for _, f := range p.Errors {
		fmt.Fprintf(&b, "; %s: %s", f.Field, f.Detail)
	}
	return b.String()
}

func (p *Problem) Unwrap() error { return p.Cause }

// NotFound is a 404 with this detail.
func NotFound(detail string) *Problem {
	return &Problem{Status: http.StatusNotFound, Detail: detail}
}

// Unavailable is a 503 for work that failed for a reason of our own, which is logged.
func Unavailable(detail string, retryAfter time.Duration, cause error) *Problem {
	return &Problem{Status: http.StatusServiceUnavailable, Detail: detail, RetryAfter: retryAfter, Cause: cause}
}

func malformed(detail string, fields ...FieldError) *Problem {
	return &Problem{Type: TypeMalformed, Title: "Malformed request", Status: http.StatusBadRequest, Detail: detail, Errors: fields}
}

// problemHandler is the one mapping of errors to HTTP.
func problemHandler(t *telemetry.Telemetry) echo.HTTPErrorHandler {
	logger, incidents := t.Logger, t.Incidents
	return func(err error, c echo.Context) {
		ctx := c.Request().Context()
		p := toProblem(err)
		if p.Status >= http.StatusInternalServerError {
			if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
				p.TraceID = span.TraceID().String()
			}
			logFailure(ctx, logger, incidents, c, p, err)
		}
		if c.Response().Committed {
			return
		}
		if err := write(c, p); err != nil {
			logger.DebugContext(ctx, "the problem could not be sent", "error", err)
		}
	}
}

// toProblem returns a copy: the Problem of a handler may be a shared one.
func toProblem(err error) Problem {
	var p *Problem
	var he *echo.HTTPError
	var tooLarge *http.MaxBytesError
	out := Problem{Status: http.StatusInternalServerError, Detail: "Something failed on our side."}
	switch {
	case errors.As(err, &p):
		out = *p
	case errors.As(err, &tooLarge):
		out = *bodyTooLarge()
	case errors.As(err, &he) && he.Code < http.StatusInternalServerError:
		out = Problem{Status: he.Code}
		if text, ok := he.Message.(string); ok && text != http.StatusText(he.Code) {
			out.Detail = text
		}
	}
	if out.Type == "" {
		out.Type = "about:blank"
	}
	if out.Title == "" {
		out.Title = http.StatusText(out.Status)
	}
	return out
}

// logFailure logs what is ours to mend. A client that left is not, nor is a
// refusal without a cause. One that has a cause says something about more than
// this request: the log tells when it begins and when it is over.
func logFailure(ctx context.Context, logger *slog.Logger, incidents *incident.Log, c echo.Context, p Problem, err error) {
	attributes := []any{"method", c.Request().Method, "path", c.Request().URL.Path, "status", p.Status}
	if p.Cause != nil {
		err = p.Cause
	}
	var caught *panicError
	switch {
	case errors.As(err, &caught):
		logger.ErrorContext(ctx, "panic in an HTTP handler", append(attributes, "error", err, "stack", string(caught.stack))...)
	case errors.Is(ctx.Err(), context.Canceled):
		logger.DebugContext(ctx, "the client left", append(attributes, "error", err)...)
	case p.Status == http.StatusInternalServerError:
		logger.ErrorContext(ctx, "HTTP request failed", append(attributes, "error", err)...)
	case p.Cause != nil:
		request := c.Request().Method + " " + c.Path()
		incidents.Report(ctx, incident.Condition{
			Key:    fmt.Sprint(request, p.Status, p.Type),
			Begins: fmt.Sprintf("%s is answered %d: %s", request, p.Status, p.Title),
			Ends:   fmt.Sprintf("%s is no longer answered %d: %s", request, p.Status, p.Title),
		}, err)
	}
}

func write(c echo.Context, p Problem) error {
	header := c.Response().Header()
	if p.RetryAfter > 0 {
		header.Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	header.Set(echo.HeaderContentType, MediaTypeProblem)
	header.Set(echo.HeaderCacheControl, "no-store")
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.Blob(p.Status, MediaTypeProblem, body)
}
