package seats

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/messaging"
)

// reservationJSON is a reservation as clients see it.
type reservationJSON struct {
	BookingID uuid.UUID        `json:"bookingId"`
	Seat      int              `json:"seat"`
	Amount    messaging.Amount `json:"amount,omitzero"` // absent if the service never learned it
	Status    Status           `json:"status"`
	Reason    string           `json:"reason,omitempty"`
}

type hallPage struct {
	Total int        `json:"total"`
	Free  int        `json:"free"`
	Held  []heldSeat `json:"held"`
	Next  string     `json:"next,omitempty"`
}

func (s *Service) getSeats(c echo.Context) error {
	limit, cursor, err := httpserver.Paging{Default: 1000, Max: 1000}.Page(c)
	if err != nil {
		return err
	}
	after := 0
	if cursor != "" {
		if after, err = strconv.Atoi(cursor); err != nil || after < 0 {
			return badCursor()
		}
	}
	free, held, err := s.store.hall(c.Request().Context(), after, limit+1)
	if err != nil {
		return unavailable(err)
	}
	page := hallPage{Total: s.store.total, Free: free, Held: held}
	if len(held) > limit {
		page.Held = held[:limit]
		page.Next = strconv.Itoa(held[limit-1].Seat)
	}
	return c.JSON(http.StatusOK, page)
}

type reservationsPage struct {
	Reservations []reservationJSON `json:"reservations"`
	Next         string            `json:"next,omitempty"`
}

func (s *Service) listReservations(c echo.Context) error {
	limit, cursor, err := httpserver.Paging{Default: 100, Max: 1000}.Page(c)
	if err != nil {
		return err
	}
	var after uuid.UUID
	if cursor != "" {
		if after, err = uuid.Parse(cursor); err != nil {
			return badCursor()
		}
	}
	found, err := s.store.list(c.Request().Context(), after, limit+1)
	if err != nil {
		return unavailable(err)
	}
	page := reservationsPage{Reservations: make([]reservationJSON, 0, min(len(found), limit))}
	if len(found) > limit {
		found = found[:limit]
		page.Next = found[limit-1].BookingID.String()
	}
	for _, r := range found {
		page.Reservations = append(page.Reservations, reservationJSON(r))
	}
	return c.JSON(http.StatusOK, page)
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

func badCursor() error {
	return httpserver.BadQuery("after", "must be the next of an earlier page")
}

func unavailable(err error) error {
	return httpserver.Unavailable("The store does not answer.", time.Second, err)
}
