package httpserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// ready answers GET /ready.
func ready(r *Readiness) echo.HandlerFunc {
	return func(c echo.Context) error {
		failing := r.Failing(c.Request().Context())
		if len(failing) == 0 {
			return c.JSON(http.StatusOK, map[string]string{"status": "ready"})
		}
		p := &Problem{Type: TypeNotReady, Title: "Not ready", Status: http.StatusServiceUnavailable}
		parts := make([]string, len(failing))
		for i, f := range failing {
			since := f.Since.UTC().Truncate(time.Second)
			parts[i] = f.Name
			if age := time.Since(f.Since).Truncate(time.Second); age > 0 {
				parts[i] += " for " + age.String()
			}
			p.Errors = append(p.Errors, FieldError{Field: f.Name, Detail: f.Err.Error(), Since: since})
		}
		p.Detail = "not working: " + strings.Join(parts, ", ")
		return p
	}
}
