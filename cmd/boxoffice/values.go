package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// plainValues makes kong say of a flag's wrong value what would be right.
func plainValues() []kong.Option {
	return []kong.Option{value(parseDuration), value(parseWhole), value(parseNumber), kong.NamedMapper("given", kong.MapperFunc(decodeGiven))}
}

// decodeGiven decodes a text that is not empty, nor blank: where a script's
// variable is not set, less is meant than everything.
func decodeGiven(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(text) != "":
	case ctx.Value.Required:
		return errors.New("is empty; name one")
	default:
		return errors.New("is empty; name one, or leave it out")
	}
	target.SetString(text)
	return nil
}

func value[T any](parse func(text, example string) (T, error)) kong.Option {
	return kong.TypeMapper(reflect.TypeFor[T](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		v, err := parse(text, ctx.Value.Default)
		if err == nil {
			target.Set(reflect.ValueOf(v))
		}
		return err
	}))
}

func parseWhole(text, _ string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

func parseNumber(text, _ string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

func parseDuration(text, example string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch n, numberErr := strconv.ParseFloat(text, 64); {
	case err != nil && numberErr == nil && n >= 0:
		return 0, fmt.Errorf("%q has no unit; use for example %ss", text, text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration; use for example %s", text, example)
	case d < 0:
		return 0, fmt.Errorf("%q must not be below 0s", text)
	}
	return d, nil
}
