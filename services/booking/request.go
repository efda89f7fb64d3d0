package booking

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

// request is what a client of POST /bookings asks for.
type request struct {
	wish row.Booking
	key  string        // its Idempotency-Key, or ""
	wait time.Duration // for the outcome; 0: it does not
}

// readRequest reads the body and the headers of POST /bookings.
func readRequest(c echo.Context) (r request, err error) {
	if r.wish, err = readWish(c); err != nil {
		return r, err
	}
	if r.key, err = idempotencyKey(c); err != nil {
		return r, err
	}
	r.wait, err = preferredWait(c)
	return r, err
}

// maxAmount is the highest amount that can be booked.
const maxAmount = 1_000_000

func readWish(c echo.Context) (row.Booking, error) {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return row.Booking{}, err
	}
	b := row.Booking{
		Seat:     o.Int("seat", 1, tickets.MaxSeat),
		Customer: o.Text("customer", 1, 200),
		Amount:   httpserver.Field(o, "amount", readAmount),
		Status:   Pending,
	}
	return b, o.Err()
}

func readAmount(raw json.RawMessage) (tickets.Amount, error) {
	var a tickets.Amount
	highest := tickets.AmountFromMinor(maxAmount * 100)
	if err := a.UnmarshalJSON(raw); err != nil || !a.IsPositive() || a.Cmp(highest) > 0 {
		return a, errors.New("must be a number above 0 and at most 1000000, with at most two decimals")
	}
	return a, nil
}

// idempotencyKey reads Idempotency-Key; "" if there is none.
func idempotencyKey(c echo.Context) (string, error) {
	values := c.Request().Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 255
	for _, r := range []byte(key) {
		ok = ok && r > ' ' && r < 0x7f
	}
	if !ok {
		return "", wrongHeader("Idempotency-Key", "must be 1 to 255 visible ASCII characters, once")
	}
	return key, nil
}

const maxWait = 60 * time.Second

// preferredWait reads Prefer: wait=N (RFC 7240), in whole seconds. Preferences
// that we do not know are no errors.
func preferredWait(c echo.Context) (time.Duration, error) {
	for _, value := range c.Request().Header.Values("Prefer") {
		for p := range strings.SplitSeq(value, ",") {
			p, _, _ = strings.Cut(p, ";") // parameters, which wait has none of
			name, text, _ := strings.Cut(strings.TrimSpace(p), "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(text), `"`))
			if err != nil || n < 0 || n > int(maxWait/time.Second) {
				return 0, wrongHeader("Prefer", "wait must be a whole number of seconds from 0 to 60")
			}
			c.Response().Header().Set("Preference-Applied", "wait="+strconv.Itoa(n))
			return time.Duration(n) * time.Second, nil
		}
	}
	return 0, nil
}

func wrongHeader(name, detail string) error {
	return &httpserver.Problem{
		Type: httpserver.TypeMalformed, Title: "Malformed request", Status: http.StatusBadRequest, Detail: "A header is wrong.",
		Errors: []httpserver.FieldError{{Field: name, Detail: detail}},
	}
}

// queriedWait reads ?wait=, a duration such as 5s, or whole seconds.
func queriedWait(c echo.Context) (time.Duration, error) {
	text := c.QueryParam("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if n, notNumber := strconv.Atoi(text); notNumber == nil && n <= int(maxWait/time.Second) {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 || d > maxWait {
		return 0, httpserver.BadQuery("wait", "must be a duration from 0s to 60s")
	}
	return d, nil
}
