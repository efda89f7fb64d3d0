package seats

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/tickets"
)

// reservationJSON is a reservation as clients see it.
type reservationJSON struct {
	BookingID uuid.UUID      `json:"bookingId"`
	Seat      int            `json:"seat"`
	Amount    tickets.Amount `json:"amount,omitzero"` // absent if the service never learned it
	Status    Status         `json:"status"`
	Reason    string         `json:"reason,omitempty"`
}

type hallPage struct {
	Total int        `json:"total"`
	Free  int        `json:"free"`
	Held  []heldSeat `json:"held"`
	Next  string     `json:"next,omitempty"`
}

func (s *Service) getSeats(c echo.Context) error {
	page, err := httpserver.ReadPage(c, httpserver.Paging{Default: 1000, Max: 1000}, readSeat)
	if err != nil {
		return err
	}
	free, found, err := s.store.hall(c.Request().Context(), page.After, page.Limit+1)
	if err != nil {
		return unavailable(err)
	}
	held, next := httpserver.Cut(found, page.Limit,
		func(h heldSeat) string { return strconv.Itoa(h.Seat) }, func(h heldSeat) heldSeat { return h })
	return c.JSON(http.StatusOK, hallPage{Total: s.store.total, Free: free, Held: held, Next: next})
}

func readSeat(text string) (int, error) {
	seat, err := strconv.Atoi(text)
	if err == nil && seat < 0 {
		err = strconv.ErrRange
	}
	return seat, err
}

type reservationsPage struct {
	Reservations []reservationJSON `json:"reservations"`
	Next         string            `json:"next,omitempty"`
}

func (s *Service) listReservations(c echo.Context) error {
	page, err := httpserver.ReadPage(c, httpserver.Paging{Default: 100, Max: 1000}, uuid.Parse)
	if err != nil {
		return err
	}
	found, err := s.store.list(c.Request().Context(), page.After, page.Limit+1)
	if err != nil {
		return unavailable(err)
	}
	shown, next := httpserver.Cut(found, page.Limit,
		func(r Reservation) string { return r.BookingID.String() }, func(r Reservation) reservationJSON { return reservationJSON(r) })
	return c.JSON(http.StatusOK, reservationsPage{Reservations: shown, Next: next})
}

func (s *Service) getReservation(c echo.Context) error {
	id, err := uuid.Parse(c.Param("bookingId"))
	if err != nil {
		return httpserver.NotFound("There is no such reservation: a booking's id is a UUID.")
	}
	r, err := s.store.get(c.Request().Context(), id)
	if errors.Is(err, errNotFound) {
		return httpserver.NotFound("There is no reservation of booking " + id.String() + ".")
	}
	if err != nil {
		return unavailable(err)
	}
	return c.JSON(http.StatusOK, reservationJSON(r))
}

func unavailable(err error) error {
	return httpserver.Unavailable("The store does not answer.", time.Second, err)
}
