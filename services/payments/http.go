package payments

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/messaging"
)

// paymentJSON is a payment as clients see it.
type paymentJSON struct {
	BookingID uuid.UUID        `json:"bookingId"`
	Amount    messaging.Amount `json:"amount"`
	Status    Status           `json:"status"`
	Reason    string           `json:"reason,omitempty"`
	Charges   int              `json:"charges"`
}

func toJSON(v view) paymentJSON {
	return paymentJSON{BookingID: v.BookingID, Amount: v.Amount, Status: v.Status, Reason: v.Reason, Charges: v.charges}
}

type paymentsPage struct {
	Payments []paymentJSON `json:"payments"`
	Next     string        `json:"next,omitempty"`
}

func (s *Service) listPayments(c echo.Context) error {
	limit, cursor, err := httpserver.Paging{Default: 100, Max: 1000}.Page(c)
	if err != nil {
		return err
	}
	var after uuid.UUID
	if cursor != "" {
		if after, err = uuid.Parse(cursor); err != nil {
			return httpserver.BadQuery("after", "must be the next of an earlier page")
		}
	}
	found, err := s.store.list(c.Request().Context(), after, limit+1)
	if err != nil {
		return unavailable(err)
	}
	page := paymentsPage{Payments: make([]paymentJSON, 0, min(len(found), limit))}
	if len(found) > limit {
		found = found[:limit]
		page.Next = found[limit-1].BookingID.String()
	}
	for _, v := range found {
		page.Payments = append(page.Payments, toJSON(v))
	}
	return c.JSON(http.StatusOK, page)
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

func unavailable(err error) error {
	return httpserver.Unavailable("The store does not answer.", time.Second, err)
}
