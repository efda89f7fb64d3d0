package booking

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"boxoffice/internal/httpserver"
)

func TestBadBookings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		wish := func(seat, customer, amount string) string {
			return `{"seat":` + seat + `,"customer":` + customer + `,"amount":` + amount + `}`
		}
		for name, c := range map[string]struct {
			body   string
			code   int
			fields []string
		}{
			"seat is a string":          {wish(`"5"`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is a fraction":        {wish(`5.5`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is 0":                 {wish(`0`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is negative":          {wish(`-1`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is 2^63":              {wish(`9223372036854775808`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is above the top":     {wish(`1000001`, `"o"`, `1`), 422, []string{"seat"}},
			"seat is null":              {wish(`null`, `"o"`, `1`), 422, []string{"seat"}},
			"amount is negative":        {wish(`5`, `"o"`, `-1`), 422, []string{"amount"}},
			"amount is 0":               {wish(`5`, `"o"`, `0`), 422, []string{"amount"}},
			"amount has 3 decimals":     {wish(`5`, `"o"`, `1.005`), 422, []string{"amount"}},
			"amount is 1e400":           {wish(`5`, `"o"`, `1e400`), 422, []string{"amount"}},
			"amount is a string":        {wish(`5`, `"o"`, `"450"`), 422, []string{"amount"}},
			"amount is above a million": {wish(`5`, `"o"`, `1000000.01`), 422, []string{"amount"}},
			"customer is empty":         {wish(`5`, `""`, `1`), 422, []string{"customer"}},
			"customer of 10 kB":         {wish(`5`, `"`+strings.Repeat("x", 10_000)+`"`, `1`), 422, []string{"customer"}},
			"customer of 201 runes":     {wish(`5`, `"`+strings.Repeat("є", 201)+`"`, `1`), 422, []string{"customer"}},
			"customer with a bell":      {wish(`5`, `"a\u0007"`, `1`), 422, []string{"customer"}},
			"customer with a NUL":       {wish(`5`, `"a\u0000"`, `1`), 422, []string{"customer"}},
			"customer is not UTF-8":     {wish(`5`, "\"a\xff\"", `1`), 422, []string{"customer"}},
			"customer is half a pair":   {wish(`5`, `"a\ud800"`, `1`), 422, []string{"customer"}},
			"customer is a number":      {wish(`5`, `7`, `1`), 422, []string{"customer"}},
			"an unknown field":          {`{"seat":5,"customer":"o","amount":1,"colour":"red"}`, 422, []string{"colour"}},
			"everything wrong":          {`{"seat":0,"customer":"","amount":0,"x":1}`, 422, []string{"seat", "customer", "amount", "x"}},
			"an empty object":           {`{}`, 422, []string{"seat", "customer", "amount"}},
			"an array":                  {`[]`, 400, nil},
			"a number":                  {`7`, 400, nil},
			"null":                      {`null`, 400, nil},
			"trailing garbage":          {wish(`5`, `"o"`, `1`) + "x", 400, nil},
			"two objects":               {wish(`5`, `"o"`, `1`) + "{}", 400, nil},
			"broken JSON":               {`{"seat":`, 400, nil},
			"white space":               {"  \n", 400, nil},
			"a body of 10 MB":           {wish(`5`, `"`+strings.Repeat("x", 10<<20)+`"`, `1`), 413, nil},
		} {
			w := r.do(http.MethodPost, "/bookings", c.body)
			expectProblem(t, name, w, c.code, c.fields)
		}
		empty := httptest.NewRequest(http.MethodPost, "/bookings", http.NoBody)
		empty.Header.Set("Content-Type", "application/json")
		form := httptest.NewRequest(http.MethodPost, "/bookings", strings.NewReader("seat=5"))
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for code, req := range map[int]*http.Request{400: empty, 415: form} {
			w := httptest.NewRecorder()
			r.Handler().ServeHTTP(w, req)
			expectProblem(t, req.Header.Get("Content-Type"), w, code, nil)
		}
		if page := decode[pageJSON](t, r.do(http.MethodGet, "/bookings", "")); len(page.Bookings) != 0 {
			t.Errorf("bad input left %d bookings", len(page.Bookings))
		}
		if s := r.door.Stats(); s.Active+s.Waiting != 0 || s.Accepted != 0 {
			t.Errorf("bad input took places: %+v", s)
		}
	})
}

func expectProblem(t *testing.T, name string, w *httptest.ResponseRecorder, code int, fields []string) {
	t.Helper()
	if w.Code != code || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d %s %s", name, w.Code, w.Header().Get("Content-Type"), w.Body)
		return
	}
	p := decode[httpserver.Problem](t, w)
	var got []string
	for _, e := range p.Errors {
		got = append(got, e.Field)
	}
	slices.Sort(got)
	fields = slices.Sorted(slices.Values(fields))
	if fields != nil && !slices.Equal(got, fields) || p.Status != code || p.Title == "" {
		t.Errorf("%s: %s; want the fields %v", name, w.Body, fields)
	}
}

func TestBadQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		for path, code := range map[string]int{
			"/bookings/not-a-uuid":          404,
			"/bookings/" + uuid.NewString(): 404,
			"/bookings?limit=0":             400,
			"/bookings?limit=-1":            400,
			"/bookings?limit=1000000000":    400,
			"/bookings?limit=x":             400,
			"/bookings?after=never-issued":  400,
			"/bookings?status=Nonsense":     400,
			"/nothing":                      404,
		} {
			expectProblem(t, path, r.do(http.MethodGet, path, ""), code, nil)
		}
		expectProblem(t, "DELETE", r.do(http.MethodDelete, "/bookings", ""), 405, nil)
	})
}

func TestBookingsArePaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		var want, got []uuid.UUID
		for range 5 {
			want = append(want, r.book("5").ID)
		}
		for next := ""; ; {
			page := decode[pageJSON](t, r.do(http.MethodGet, "/bookings?status=Pending&limit=2&after="+next, ""))
			for _, b := range page.Bookings {
				got = append(got, b.ID)
			}
			if next = page.Next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
