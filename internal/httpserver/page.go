package httpserver

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Paging is how long the pages of a list may be.
type Paging struct{ Default, Max int }

// Page is what a client wants of a list.
type Page[C any] struct {
	Limit int
	After C // where the page before ended; the zero value: the first page
}

// ReadPage reads the query of a list: limit, from 1 to Max, and after, the
// next of the page before, which parse reads. Its error is a 400.
func ReadPage[C any](c echo.Context, p Paging, parse func(string) (C, error)) (Page[C], error) {
	page := Page[C]{Limit: p.Default}
	query, err := Query(c)
	if err != nil {
		return page, err
	}
	if query.Has("limit") {
		page.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || page.Limit < 1 || page.Limit > p.Max {
			return page, BadQuery("limit", fmt.Sprintf("must be a whole number from 1 to %d", p.Max))
		}
	}
	if text := query.Get("after"); text != "" {
		if page.After, err = parse(text); err != nil {
			return page, BadQuery("after", "must be the next of an earlier page")
		}
	}
	return page, nil
}

// Cut makes a page of what was found after the cursor, looked for with a limit
// of one more than the page's. If that many were found there is a next page,
// and next is the cursor of the last one shown; else it is "".
func Cut[T, J any](found []T, limit int, cursor func(T) string, show func(T) J) (shown []J, next string) {
	if len(found) > limit {
		found = found[:limit]
		next = cursor(found[limit-1])
	}
	shown = make([]J, len(found)) // not nil, which would be null to clients
	for i, v := range found {
		shown[i] = show(v)
	}
	return shown, next
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
