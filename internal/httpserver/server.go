package httpserver

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/telemetry"
)

// Options are what a service's HTTP side needs.
type Options struct {
	Telemetry *telemetry.Telemetry
	Readiness *Readiness // what GET /ready tells; nil: always ready
	// Lab says that requests can break things on purpose. Only those are
	// answered then whose Host no page of a stranger can have.
	Lab          bool
	AllowedHosts []string // beside those, with Lab
}

// New is an Echo with everything but the service's own routes: GET /live,
// GET /ready and GET /metrics, problem documents, tracing, the body limit and
// what protects from browsers. Each GET route that is added to it answers HEAD
// as well, and each route OPTIONS.
func New(o Options) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // Echo's own logger: everything is said by ours
	e.HTTPErrorHandler = problemHandler(o.Telemetry)
	e.OnAddRouteHandler = func(_ string, r echo.Route, h echo.HandlerFunc, m []echo.MiddlewareFunc) {
		if r.Method == http.MethodGet {
			e.HEAD(r.Path, h, m...) // net/http leaves the body out
		}
	}
	pre := []echo.MiddlewareFunc{tracing(e, o.Telemetry), recovering}
	if o.Lab {
		pre = append(pre, onlyOurHosts(o.AllowedHosts))
	}
	e.Pre(append(pre, sameOrigin(), limitBody)...)
	e.GET("/live", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]string{"status": "live"})
	})
	e.GET("/ready", ready(o.Readiness))
	e.GET("/metrics", echo.WrapHandler(o.Telemetry.MetricsHandler))
	return e
}
