package seats

import (
	"context"

	"github.com/labstack/echo/v4"
)

// postReset forgets every reservation. The seats of bookings that run would be
// sold again, so it refuses while there are any.
func (s *Service) postReset(c echo.Context) error {
	return s.Reset(c, "Events are being handled, or held.", func(ctx context.Context) error {
		if err := s.store.reset(ctx); err != nil {
			return unavailable(err)
		}
		return nil
	})
}
