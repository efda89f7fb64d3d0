package httpserver

import (
	"github.com/labstack/echo/v4"
)

// CheckOnly reports whether the request asks no more than whether it would be
// carried out: with ?check=true.
func CheckOnly(c echo.Context) (bool, error) {
	query, err := Query(c)
	if err != nil {
		return false, err
	}
	switch query.Get("check") {
	case "":
		return false, nil
	case "true":
		return true, nil
	}
	return false, BadQuery("check", "must be true, or absent")
}
