package booking

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// postDrain closes the door, as SIGTERM does, but the service goes on.
func (s *Service) postDrain(c echo.Context) error {
	s.door.drain(true)
	return c.NoContent(http.StatusNoContent)
}

func (s *Service) postResume(c echo.Context) error {
	s.door.drain(false)
	return c.NoContent(http.StatusNoContent)
}

// postReset empties the store. It is for a stack that is drained and quiet:
// bookings that run would come back as strangers.
func (s *Service) postReset(c echo.Context) error {
	if stats := s.door.stats(); stats.Accepting || stats.Active+stats.Waiting+stats.Overdue > 0 {
		return notQuiet()
	}
	if err := s.store.reset(c.Request().Context()); err != nil {
		return storeDown(err)
	}
	return c.NoContent(http.StatusNoContent)
}
