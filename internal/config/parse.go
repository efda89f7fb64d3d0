package config

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// parse reads text into target. Its error completes the sentence that begins
// with name and value.
func parse(text string, tag *kong.Tag, target reflect.Value) error {
	if target.Kind() == reflect.Pointer {
		if target.IsNil() {
			target.Set(reflect.New(target.Type().Elem()))
		}
		return parse(text, tag, target.Elem())
	}
	var value any
	var err error
	switch target.Interface().(type) {
	case int:
		value, err = parseInt(text, tag)
	case time.Duration:
		value, err = parseDuration(text, tag)
	case []time.Duration:
		value, err = parseDelays(text, tag)
	case tickets.Amount:
		value, err = parseAmount(text)
	case messaging.TopologyMode:
		value, err = choose(text, messaging.TopologyDeclare, messaging.TopologyCheck)
	case LogFormat:
		value, err = choose[LogFormat](text, "text", "json")
	case lab.Unsafe:
		value, err = choose(text, lab.Unsafes()...)
	case slog.Level:
		value, err = parseLevel(text)
	case Lab:
		var word string
		word, err = choose(text, "on", "off")
		value = Lab(word == "on")
	case AllowedHosts:
		value, err = parseAllowedHosts(text)
	case Instance:
		value, err = parseInstance(text)
	case Address:
		value, err = parseAddress(text)
	case BrokerURL:
		value, err = parseBrokerURL(text)
	case DatabaseURL:
		value, err = parseDatabaseURL(text)
	default:
		return fmt.Errorf("is of a type that cannot be set: %s", target.Type())
	}
	if err == nil {
		target.Set(reflect.ValueOf(value))
	}
	return err
}

func parseInt(text string, tag *kong.Tag) (int, error) {
	low, high := tag.Get("min"), tag.Get("max")
	n, err := strconv.Atoi(text)
	lowest, errLow := strconv.Atoi(low)
	highest, errHigh := strconv.Atoi(high)
	if err := errors.Join(errLow, errHigh); err != nil {
		return 0, fmt.Errorf("has no range: %w", err)
	}
	if err != nil || n < lowest || n > highest {
		return 0, fmt.Errorf("is not a whole number from %s to %s", low, high)
	}
	return n, nil
}

func parseDuration(text string, tag *kong.Tag) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("is not a duration; use for example %s", tag.Get("example"))
	}
	if low, err := time.ParseDuration(tag.Get("min")); err != nil || d < low {
		return 0, fmt.Errorf("must be at least %s", tag.Get("min"))
	}
	return d, nil
}

// maxDelay bounds the time that a message may wait for its next attempt.
const maxDelay = 24 * time.Hour

func parseDelays(text string, tag *kong.Tag) ([]time.Duration, error) {
	var delays []time.Duration
	for part := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("is not a list of durations; use for example %s", tag.Get("example"))
		}
		if d < time.Millisecond || d > maxDelay || d%time.Millisecond != 0 {
			return nil, fmt.Errorf("must have delays from 1ms to %s, in whole milliseconds", maxDelay)
		}
		delays = append(delays, d)
	}
	return delays, nil
}

func parseAmount(text string) (tickets.Amount, error) {
	a, err := tickets.ParseAmount(text)
	if err != nil || a.Cmp(tickets.Amount{}) < 0 {
		return a, errors.New("is not an amount; use a number from 0, with at most two decimals")
	}
	return a, nil
}

func parseLevel(text string) (slog.Level, error) {
	word, err := choose(strings.ToLower(text), "debug", "info", "warn", "error")
	if err != nil {
		return 0, err
	}
	var level slog.Level
	err = level.UnmarshalText([]byte(word))
	return level, err
}

func parseInstance(text string) (Instance, error) {
	visible := func(r rune) bool { return r > ' ' && r <= '~' }
	if len(text) > 100 || strings.ContainsFunc(text, func(r rune) bool { return !visible(r) }) {
		return "", errors.New("is not a name; use 1 to 100 visible ASCII characters")
	}
	return Instance(text), nil
}

func choose[T ~string](text string, allowed ...T) (T, error) {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		if text == string(a) {
			return a, nil
		}
		words[i] = string(a)
	}
	last := len(words) - 1
	return "", fmt.Errorf("is not known; use %s or %s", strings.Join(words[:last], ", "), words[last])
}
