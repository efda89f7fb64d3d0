package participant

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// ResetPatience is how long a reset waits for the last deliveries.
const ResetPatience = 3 * time.Second

// Reset answers a request to empty the service's store. It is for a stack that
// is drained and quiet: it refuses while this replica has deliveries in hand,
// which busy says in the words of the service, and cannot know about other
// replicas. With ?check=true it only says whether it would.
func (p *Participant) Reset(c echo.Context, busy string, empty func(context.Context) error) error {
	checkOnly, err := httpserver.CheckOnly(c)
	if err != nil {
		return err
	}
	if !p.idle(c.Request().Context(), ResetPatience) {
		return &httpserver.Problem{
			Status: http.StatusConflict,
			Detail: busy + " Only a stack that is drained and quiet can be reset.",
		}
	}
	if !checkOnly {
		if err := empty(c.Request().Context()); err != nil {
			return err
		}
		p.deps.Telemetry.Logger.InfoContext(c.Request().Context(), "reset: the store is empty")
	}
	return c.NoContent(http.StatusNoContent)
}
