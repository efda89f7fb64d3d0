package httpserver

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/telemetry"
)

// MaxBody is the largest request body that is read.
const MaxBody = 64 << 10

// tracing puts otelhttp around everything, the mapping of errors included, so
// that the span has the status that the client gets, and names it by its route.
func tracing(e *echo.Echo, t *telemetry.Telemetry) echo.MiddlewareFunc {
	instrument := otelhttp.NewMiddleware("http",
		otelhttp.WithTracerProvider(t.TracerProvider),
		otelhttp.WithMeterProvider(t.MeterProvider),
		otelhttp.WithPropagators(t.Propagator),
		otelhttp.WithFilter(worthTracing))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, e))
				if err := next(c); err != nil {
					c.Error(err)
				}
				if route := c.Path(); route != "" {
					r.Pattern = r.Method + " " + route // otelhttp names span and metrics by it
					trace.SpanFromContext(r.Context()).SetAttributes(semconv.HTTPRoute(route))
				}
			})
			instrument(inner).ServeHTTP(c.Response().Writer, c.Request())
			return nil
		}
	}
}

func worthTracing(r *http.Request) bool {
	switch r.URL.Path {
	case "/live", "/ready", "/metrics":
		return false
	}
	return true
}

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovering turns a panic into an error.
func recovering(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler: // net/http's own way to cut a response off
				panic(p)
			default:
				err = &panicError{value: p, stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}

// limitBody refuses a body that says it is too large, and cuts off one that turns out to be.
func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > MaxBody {
			c.Response().Header().Set(echo.HeaderConnection, "close") // the rest is not worth reading
			return bodyTooLarge()
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(c.Response(), r.Body, MaxBody)
		}
		return next(c)
	}
}

func bodyTooLarge() *Problem {
	return &Problem{
		Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("A request body may have %d bytes at most.", MaxBody),
	}
}
