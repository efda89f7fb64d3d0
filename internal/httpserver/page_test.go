package httpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// numbersAPI lists the numbers from 1 to 50, as text.
func numbersAPI(t *testing.T) http.Handler {
	tel, _ := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.GET("/", func(c echo.Context) error {
		page, err := httpserver.ReadPage(c, httpserver.Paging{Default: 20, Max: 49}, strconv.Atoi)
		if err != nil {
			return err
		}
		var found []int
		for n := page.After + 1; n <= 50 && len(found) < page.Limit+1; n++ {
			found = append(found, n)
		}
		shown, next := httpserver.Cut(found, page.Limit, strconv.Itoa, strconv.Itoa)
		return c.JSON(http.StatusOK, map[string]any{"shown": shown, "next": next})
	})
	return e
}

func TestPage(t *testing.T) {
	api := numbersAPI(t)
	for query, want := range map[string]string{
		"?limit=2":                    `{"next":"2","shown":["1","2"]}`,
		"?limit=2&unknown=1&after=":   `{"next":"2","shown":["1","2"]}`,
		"?limit=2&after=%34":          `{"next":"6","shown":["5","6"]}`,
		"?limit=2&after=48":           `{"next":"","shown":["49","50"]}`,
		"?after=49":                   `{"next":"","shown":["50"]}`,
		"?limit=49&after=50":          `{"next":"","shown":[]}`,
		"?limit=50":                   "limit",
		"?limit=0":                    "limit",
		"?limit=":                     "limit",
		"?limit=ten":                  "limit",
		"?limit=1&limit=2":            "limit",
		"?limit=99999999999999999999": "limit",
		"?after=olena":                "after",
		"?after=1&after=2":            "after",
		"?after=%zz":                  "",
	} {
		res, body := do(api, httptest.NewRequest(http.MethodGet, "/"+query, nil))
		if strings.HasPrefix(want, "{") {
			if res.StatusCode != http.StatusOK || strings.TrimSpace(body) != want {
				t.Errorf("%s: %d %s, want %s", query, res.StatusCode, body, want)
			}
			continue
		}
		p := problem(t, res, body, 400)
		if want != "" && (len(p.Errors) != 1 || p.Errors[0].Field != want) {
			t.Errorf("%s: %s", query, body)
		}
	}
}

func TestPageHasADefaultLength(t *testing.T) {
	res, body := do(numbersAPI(t), httptest.NewRequest(http.MethodGet, "/", nil))
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `"next":"20"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}
