package booking

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/lab"
)

// headerFault is the fault script of one booking.
const headerFault = "X-Lab-Fault"

// headerBaggage is what the request brings along for all who handle it.
const headerBaggage = "Baggage"

// withFaults is the request's context with the booking's fault script in its
// baggage. Without the lab there is none, whatever the request brings along.
func (s *Service) withFaults(c echo.Context) (context.Context, error) {
	header := c.Request().Header
	ctx := lab.Without(c.Request().Context())
	texts := header.Values(headerFault)
	if !s.cfg.Lab || len(texts) == 0 {
		return ctx, nil
	}
	script, err := lab.Parse(strings.Join(texts, ", ")) // a list may come in several headers
	if err == nil {
		// Baggage that is too long by itself is not in ctx any more.
		if own := strings.Join(header.Values(headerBaggage), ","); len(own) > lab.MaxBaggage {
			err = lab.ErrTooLong
		} else {
			ctx, err = lab.With(ctx, script)
		}
	}
	if err != nil {
		return nil, &httpserver.Problem{
			Type: httpserver.TypeValidation, Title: "Wrong fault script", Status: http.StatusUnprocessableEntity,
			Detail: "Nothing was booked.", Errors: []httpserver.FieldError{{Field: headerFault, Detail: err.Error()}},
		}
	}
	return ctx, nil
}

// postDrain closes the door, as SIGTERM does, but the service goes on.
func (s *Service) postDrain(c echo.Context) error {
	s.door.Drain(true)
	return c.NoContent(http.StatusNoContent)
}

func (s *Service) postResume(c echo.Context) error {
	s.door.Drain(false)
	return c.NoContent(http.StatusNoContent)
}

// postReset empties the store. It is for a stack that is drained and quiet:
// bookings that run would come back as strangers. With ?check=true it only says
// whether it would.
func (s *Service) postReset(c echo.Context) error {
	checkOnly, err := httpserver.CheckOnly(c)
	if err != nil {
		return err
	}
	if stats := s.door.Stats(); !s.door.Restored() || stats.Accepting || stats.Active+stats.Waiting+stats.Overdue > 0 {
		return notQuiet()
	}
	if checkOnly {
		return c.NoContent(http.StatusNoContent)
	}
	if err := s.store.Reset(c.Request().Context()); err != nil {
		return storeDown(err)
	}
	return c.NoContent(http.StatusNoContent)
}
