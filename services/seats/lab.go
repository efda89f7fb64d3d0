package seats

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// postReset forgets every reservation. It is for a stack that is drained and
// quiet: the seats of bookings that run would be sold again.
func (s *Service) postReset(c echo.Context) error {
	if err := s.store.reset(c.Request().Context()); err != nil {
		return unavailable(err)
	}
	return c.NoContent(http.StatusNoContent)
}
