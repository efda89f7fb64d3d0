package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Object is a JSON object from a request, whose fields are read one by one.
// What is wrong with them is collected, so that one answer names it all:
//
//	o, err := httpserver.DecodeObject(c)
//	if err != nil {
//		return err
//	}
//	seat := o.Int("seat", 1, 1_000_000)
//	customer := o.Text("customer", 1, 200)
//	if err := o.Err(); err != nil {
//		return err
//	}
type Object struct {
	names  []string // as they came
	raw    map[string]json.RawMessage
	read   map[string]bool
	failed map[string]bool
	errors []FieldError
}

// maxFieldErrors is how many wrong fields one answer names.
const maxFieldErrors = 50

// DecodeObject reads the body of a request, which must be one JSON object and
// nothing else. Its error is a *Problem: 415, 413 or 400.
func DecodeObject(c echo.Context) (*Object, error) {
	media, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || media != echo.MIMEApplicationJSON {
		return nil, &Problem{Status: http.StatusUnsupportedMediaType, Detail: "The body must be application/json."}
	}
	body, err := io.ReadAll(c.Request().Body)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		c.Response().Header().Set(echo.HeaderConnection, "close")
		return nil, bodyTooLarge()
	}
	if err != nil {
		return nil, malformed("The body could not be read.")
	}
	return parseObject(body)
}

func parseObject(body []byte) (*Object, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, malformed("The body is empty; it must be a JSON object.")
	}
	if !json.Valid(body) {
		return nil, malformed("The body is not valid JSON: " + syntaxError(body))
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, malformed("The body must be a JSON object.")
	}
	o := &Object{raw: map[string]json.RawMessage{}, read: map[string]bool{}, failed: map[string]bool{}}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, malformed("The body is not valid JSON.")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, malformed("The body is not valid JSON.")
		}
		o.add(name.(string), value) // in an object that is valid JSON a string comes before each value
	}
	return o, nil
}

func syntaxError(body []byte) string {
	var value json.RawMessage
	if err := json.Unmarshal(body, &value); err != nil {
		return err.Error()
	}
	return "unexpected text"
}

func (o *Object) add(name string, value json.RawMessage) {
	if _, twice := o.raw[name]; twice {
		o.Fail(name, "appears more than once")
		return
	}
	o.names = append(o.names, name)
	o.raw[name] = value
}

// Fail notes that a field is wrong.
func (o *Object) Fail(field, detail string) {
	if o.failed[field] || len(o.errors) == maxFieldErrors {
		return // one mistake a field is enough to mend it
	}
	o.failed[field] = true
	o.errors = append(o.errors, FieldError{Field: field, Detail: detail})
}

// Err is nil, or a 422 that names every field that is wrong, or that nobody read.
func (o *Object) Err() error {
	for _, name := range o.names {
		if !o.read[name] {
			o.Fail(name, "is not a known field")
		}
	}
	if len(o.errors) == 0 {
		return nil
	}
	return &Problem{
		Type: TypeValidation, Title: "Wrong field values", Status: http.StatusUnprocessableEntity,
		Detail: "The request was not carried out; errors says what to change.", Errors: o.errors,
	}
}

// Has reports whether the object has the field.
func (o *Object) Has(name string) bool {
	_, ok := o.raw[name]
	return ok
}
