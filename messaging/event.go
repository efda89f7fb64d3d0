package messaging

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
)

// Event is something that happened in one run of the saga. Its name on the wire
// is the name of its Go type, and its body is its JSON. Events are values, not
// pointers.
type Event interface {
	// Key is what the events of one run have in common, such as an order's id. It
	// must not be empty.
	Key() string
	// Validate says what a decoded event lacks; nil if it is complete.
	Validate() error
}

// Detailed is an event that has more to say to the log than its key.
type Detailed interface {
	LogAttrs() []slog.Attr
}

// EventName returns the name of e on the wire.
func EventName(e Event) string { return nameOf(reflect.TypeOf(e)) }

// NameOf returns the name on the wire of the events of one type.
func NameOf[E Event]() string { return nameOf(reflect.TypeFor[E]()) }

func nameOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// check says why no consumer would take e; nil if one would.
func check(e Event, body []byte) error {
	switch err := validate(e); {
	case err != nil:
		return err
	case e.Key() == "":
		return errNoKey
	case len(body) > maxBody:
		return errTooLarge
	}
	return nil
}

// validate turns a panic into an error: events are made of what strangers sent.
func validate(e Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("validate: %w", newPanicError(v))
		}
	}()
	return e.Validate()
}

// logEvent writes one line of the saga: the event, its key and its details.
func (i Instruments) logEvent(ctx context.Context, text string, e Event, more ...slog.Attr) {
	if !i.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 4), slog.String(i.KeyName, e.Key()))
	if d, ok := e.(Detailed); ok {
		attrs = append(attrs, d.LogAttrs()...)
	}
	i.Logger.LogAttrs(ctx, slog.LevelInfo, text, append(attrs, more...)...)
}
