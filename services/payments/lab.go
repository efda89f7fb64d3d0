package payments

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// maxLabDelay is the longest time that the lab makes a charge take.
const maxLabDelay = time.Minute

// postGate closes or opens the gate in front of the bank.
func (s *Service) postGate(closed bool) echo.HandlerFunc {
	return func(c echo.Context) error { return s.changeBank(c, change{closed: &closed}) }
}

// postBank changes how the bank behaves. What the body does not name stays.
func (s *Service) postBank(c echo.Context) error {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return err
	}
	wanted := change{
		failure: optional(o, "failure", readFailure),
		when:    optional(o, "when", readStage),
		delay:   optional(o, "delay", readDelay),
	}
	if err := o.Err(); err != nil {
		return err
	}
	return s.changeBank(c, wanted)
}

func (s *Service) changeBank(c echo.Context, wanted change) error {
	if err := s.bank.lab.change(c.Request().Context(), wanted); err != nil {
		return unavailable(err)
	}
	return c.NoContent(http.StatusNoContent)
}

// postReset forgets every payment, the bank's books and what the lab did. It
// refuses while charges run, or are held.
func (s *Service) postReset(c echo.Context) error {
	return s.Reset(c, "Charges are running, or held at the bank's gate.", func(ctx context.Context) error {
		if err := s.bank.lab.reset(ctx); err != nil {
			return unavailable(err)
		}
		return nil
	})
}

// optional is the field's value, or nil if the object does not have it.
func optional[T any](o *httpserver.Object, name string, parse func(json.RawMessage) (T, error)) *T {
	if !o.Has(name) {
		return nil
	}
	v := httpserver.Field(o, name, parse)
	return &v
}

func readFailure(raw json.RawMessage) (float64, error) {
	p, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || p < 0 || p > 1 {
		return 0, errors.New("must be a number from 0 to 1")
	}
	return p, nil
}

func readStage(raw json.RawMessage) (Stage, error) {
	switch string(raw) {
	case `"before"`:
		return BeforeCharge, nil
	case `"after"`:
		return AfterCharge, nil
	}
	return "", errors.New(`must be "before" or "after"`)
}

func readDelay(raw json.RawMessage) (time.Duration, error) {
	wrong := errors.New(`must be a duration from "0s" to "60s", such as "500ms"`)
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, wrong
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxLabDelay {
		return 0, wrong
	}
	return d, nil
}
