package payments

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/tickets"
)

// paymentJSON is a payment as clients see it.
type paymentJSON struct {
	BookingID uuid.UUID      `json:"bookingId"`
	Amount    tickets.Amount `json:"amount"`
	Status    Status         `json:"status"`
	Reason    string         `json:"reason,omitempty"`
	Charges   int            `json:"charges"`
}

func toJSON(v view) paymentJSON {
	return paymentJSON{BookingID: v.BookingID, Amount: v.Amount, Status: v.Status, Reason: v.Reason, Charges: v.charges}
}

type paymentsPage struct {
	Payments []paymentJSON `json:"payments"`
	Next     string        `json:"next,omitempty"`
}

func readPage(c echo.Context) (httpserver.Page[uuid.UUID], error) {
	return httpserver.ReadPage(c, httpserver.Paging{Default: 100, Max: 1000}, uuid.Parse)
}

func (s *Service) listPayments(c echo.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	found, err := s.store.list(c.Request().Context(), page.After, page.Limit+1)
	if err != nil {
		return unavailable(err)
	}
	shown, next := httpserver.Cut(found, page.Limit, func(v view) string { return v.BookingID.String() }, toJSON)
	return c.JSON(http.StatusOK, paymentsPage{Payments: shown, Next: next})
}

func (s *Service) getPayment(c echo.Context) error {
	id, err := uuid.Parse(c.Param("bookingId"))
	if err != nil {
		return httpserver.NotFound("There is no such payment: a booking's id is a UUID.")
	}
	v, err := s.store.get(c.Request().Context(), id)
	if errors.Is(err, errNotFound) {
		return httpserver.NotFound("There is no payment of booking " + id.String() + ".")
	}
	if err != nil {
		return unavailable(err)
	}
	return c.JSON(http.StatusOK, toJSON(v))
}

// chargeJSON is a charge in the bank's books, whether or not there is a payment.
type chargeJSON struct {
	BookingID uuid.UUID      `json:"bookingId"`
	Amount    tickets.Amount `json:"amount"`
}

type chargesPage struct {
	Charges []chargeJSON `json:"charges"`
	Next    string       `json:"next,omitempty"`
}

func (s *Service) listCharges(c echo.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	found, err := s.bank.ledger.charges(c.Request().Context(), page.After, page.Limit+1)
	if err != nil {
		return unavailable(err)
	}
	shown, next := httpserver.Cut(found, page.Limit, func(e Entry) string { return e.BookingID.String() },
		func(e Entry) chargeJSON { return chargeJSON{BookingID: e.BookingID, Amount: e.Amount} })
	return c.JSON(http.StatusOK, chargesPage{Charges: shown, Next: next})
}

func unavailable(err error) error {
	return httpserver.Unavailable("The store does not answer.", time.Second, err)
}
