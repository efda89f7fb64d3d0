package participant

import (
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// HTTP is the HTTP side of the service before its own routes, and its
// readiness, for which the service may need more than every participant does.
func (p *Participant) HTTP(needs ...httpserver.Check) (*echo.Echo, *httpserver.Readiness) {
	t := p.deps.Telemetry
	readiness := httpserver.NewReadiness(t.MeterProvider, append(p.Checks(), needs...)...)
	return httpserver.New(httpserver.Options{
		Telemetry: t, Readiness: readiness, Lab: p.settings.Lab, AllowedHosts: p.settings.AllowedHosts,
	}), readiness
}
