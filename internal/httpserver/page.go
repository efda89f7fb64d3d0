package httpserver

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Paging is how long the pages of a list may be.
type Paging struct{ Default, Max int }

// Page reads the query of a list: limit, from 1 to Max, and after, the opaque
// cursor of the page before ("": the first page). Its error is a 400.
func (p Paging) Page(c echo.Context) (limit int, after string, err error) {
	query, err := Query(c)
	if err != nil {
		return 0, "", err
	}
	limit = p.Default
	if query.Has("limit") {
		limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || limit < 1 || limit > p.Max {
			return 0, "", BadQuery("limit", fmt.Sprintf("must be a whole number from 1 to %d", p.Max))
		}
	}
	return limit, query.Get("after"), nil
}

// Query is the query of a request. One that cannot be read is a 400, as are
// two values of one parameter.
func Query(c echo.Context) (url.Values, error) {
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, malformed("The query of the URL cannot be read.")
	}
	for name, values := range query {
		if len(values) > 1 {
			return nil, BadQuery(name, "appears more than once")
		}
	}
	return query, nil
}

// BadQuery is a 400 for a query parameter, such as a cursor that nobody gave out.
func BadQuery(parameter, detail string) *Problem {
	return malformed("The query of the URL is wrong.", FieldError{Field: parameter, Detail: detail})
}
