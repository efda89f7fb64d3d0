package seats

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// resetPatience is how long a reset waits for the last deliveries.
const resetPatience = 3 * time.Second

// postReset forgets every reservation. It is for a stack that is drained and
// quiet, because the seats of bookings that run would be sold again: it refuses
// while this replica has deliveries in hand, and cannot know about other replicas.
// With ?check=true it only says whether it would.
func (s *Service) postReset(c echo.Context) error {
	checkOnly, err := httpserver.CheckOnly(c)
	if err != nil {
		return err
	}
	if !s.Idle(c.Request().Context(), resetPatience) {
		return &httpserver.Problem{
			Status: http.StatusConflict,
			Detail: "Events are being handled, or held. Only a stack that is drained and quiet can be reset.",
		}
	}
	if checkOnly {
		return c.NoContent(http.StatusNoContent)
	}
	if err := s.store.reset(c.Request().Context()); err != nil {
		return unavailable(err)
	}
	return c.NoContent(http.StatusNoContent)
}
