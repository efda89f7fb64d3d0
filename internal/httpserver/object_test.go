package httpserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

func bookingAPI(t *testing.T) *echo.Echo {
	tel, _ := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.POST("/", func(c echo.Context) error {
		o, err := httpserver.DecodeObject(c)
		if err != nil {
			return err
		}
		seat := o.Int("seat", 1, 1000)
		customer := o.Text("customer", 1, 5)
		even := httpserver.Field(o, "even", func(raw json.RawMessage) (string, error) {
			if len(raw)%2 != 0 {
				return "", errors.New("must have an even length")
			}
			return string(raw), nil
		})
		if err := o.Err(); err != nil {
			return err
		}
		return c.JSON(200, []any{seat, customer, even})
	})
	return e
}

func TestDecodeObject(t *testing.T) {
	e := bookingAPI(t)
	const good = `{"seat":5,"customer":"olena","even":42}`
	deep := `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`
	for _, test := range []struct {
		name, body, contentType string
		status                  int
		fields                  string // the fields named, in order
	}{
		{"good", good, "application/json", 200, ""},
		{"charset", good, "application/json; charset=utf-8", 200, ""},
		{"spaces", " {\n\"seat\" :\t5 , \"customer\": \"ol\\u00e9n\", \"even\" : 42 }\n", "application/json", 200, ""},
		{"emoji", `{"seat":5,"customer":"\ud83d\ude00","even":42}`, "application/json", 200, ""},
		{"escaped backslash", `{"seat":5,"customer":"\\ud80","even":42}`, "application/json", 200, ""},
		{"no content type", good, "", 415, ""},
		{"form", good, "application/x-www-form-urlencoded", 415, ""},
		{"empty", "", "application/json", 400, ""},
		{"blank", " \n", "application/json", 400, ""},
		{"array", "[" + good + "]", "application/json", 400, ""},
		{"string", `"seat"`, "application/json", 400, ""},
		{"null", `null`, "application/json", 400, ""},
		{"trailing garbage", good + "x", "application/json", 400, ""},
		{"two objects", good + good, "application/json", 400, ""},
		{"cut off", good[:20], "application/json", 400, ""},
		{"too deep", deep, "application/json", 400, ""},
		{"nothing", "{}", "application/json", 422, "seat customer even"},
		{"unknown", `{"seat":5,"customer":"olena","even":42,"Seat":6,"x":{}}`, "application/json", 422, "Seat x"},
		{"twice", `{"seat":5,"seat":6,"customer":"olena","even":42}`, "application/json", 422, "seat"},
		{"all wrong", `{"seat":"5","customer":7,"even":123}`, "application/json", 422, "seat customer even"},
		{"fraction", `{"seat":5.5,"customer":"olena","even":42}`, "application/json", 422, "seat"},
		{"2^63", `{"seat":9223372036854775808,"customer":"olena","even":42}`, "application/json", 422, "seat"},
		{"zero", `{"seat":0,"customer":"olena","even":42}`, "application/json", 422, "seat"},
		{"nulls", `{"seat":null,"customer":null,"even":null}`, "application/json", 422, "seat customer"},
		{"empty text", `{"seat":5,"customer":"","even":42}`, "application/json", 422, "customer"},
		{"long text", `{"seat":5,"customer":"olenas","even":42}`, "application/json", 422, "customer"},
		{"control", `{"seat":5,"customer":"a\u0007","even":42}`, "application/json", 422, "customer"},
		{"not UTF-8", "{\"seat\":5,\"customer\":\"a\xff\",\"even\":42}", "application/json", 422, "customer"},
		{"half a character", `{"seat":5,"customer":"a\ud800","even":42}`, "application/json", 422, "customer"},
		{"halves reversed", `{"seat":5,"customer":"\ude00\ud83d","even":42}`, "application/json", 422, "customer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			req.Header.Set("Content-Type", test.contentType)
			res, body := do(e, req)
			if test.status == 200 {
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%d %s", res.StatusCode, body)
				}
				return
			}
			p := problem(t, res, body, test.status)
			var fields []string
			for _, f := range p.Errors {
				fields = append(fields, f.Field)
			}
			if got := strings.Join(fields, " "); got != test.fields {
				t.Errorf("named %q, want %q: %s", got, test.fields, body)
			}
			if test.status == 422 && p.Type != httpserver.TypeValidation || test.status == 400 && p.Type != httpserver.TypeMalformed {
				t.Errorf("type %s", p.Type)
			}
		})
	}
}

func TestManyWrongFieldsAreNamedInPart(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"a":1`)
	for i := range 5000 {
		body.WriteString(`,"` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune(0x4e00+i)) + `":1`)
	}
	body.WriteString("}")
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body.String()))
	req.Header.Set("Content-Type", "application/json")
	res, answer := do(bookingAPI(t), req)
	if p := problem(t, res, answer, 422); len(p.Errors) != 50 || p.Errors[0].Field != "seat" {
		t.Errorf("%d errors, first %+v", len(p.Errors), p.Errors[0])
	}
}
