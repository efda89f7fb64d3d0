package httpserver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Raw is a field's JSON. Without the field it fails, and returns false.
func (o *Object) Raw(name string) (json.RawMessage, bool) {
	o.read[name] = true
	value, ok := o.raw[name]
	if !ok {
		o.Fail(name, "is missing")
	}
	return value, ok
}

// Int reads a whole number from low to high.
func (o *Object) Int(name string, low, high int) int {
	raw, ok := o.Raw(name)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < low || n > high {
		o.Fail(name, fmt.Sprintf("must be a whole number from %d to %d", low, high))
		return 0
	}
	return n
}

// Text reads a string of so many characters, without control characters.
func (o *Object) Text(name string, low, high int) string {
	raw, ok := o.Raw(name)
	if !ok {
		return ""
	}
	if !utf8.Valid(raw) || loneSurrogate(raw) {
		o.Fail(name, "must be valid UTF-8")
		return ""
	}
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		o.Fail(name, "must be a string")
		return ""
	}
	if n := utf8.RuneCountInString(text); n < low || n > high {
		o.Fail(name, fmt.Sprintf("must have %d to %d characters", low, high))
	} else if strings.ContainsFunc(text, unicode.IsControl) {
		o.Fail(name, "must not contain control characters")
	}
	return text
}

// Field reads a field by a function of the caller's, whose error says what is wrong.
func Field[T any](o *Object, name string, parse func(json.RawMessage) (T, error)) T {
	var zero T
	raw, ok := o.Raw(name)
	if !ok {
		return zero
	}
	value, err := parse(raw)
	if err != nil {
		o.Fail(name, err.Error())
		return zero
	}
	return value
}

// loneSurrogate reports whether a JSON string escapes half a character, such as
// "\ud800", which encoding/json would silently replace.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		first := escaped(raw[i:])
		i++ // the escaped character is no backslash that starts another
		if !utf16.IsSurrogate(first) {
			continue
		}
		if i+5 > len(raw) || utf16.DecodeRune(first, escaped(raw[i+5:])) == utf8.RuneError {
			return true
		}
		i += 10 // both halves
	}
	return false
}

// escaped is the character of the \uXXXX that text begins with, else 0.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
