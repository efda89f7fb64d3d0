package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Handler consumes the events of one type. Make one with [On].
type Handler struct {
	event  string
	wrong  error // why it cannot be used
	decode func(body []byte) (Event, error)
	handle func(context.Context, Event) ([]Event, error)
}

// On makes a Handler from a function that handles one event: it commits what
// the event changes and returns the events that follow from it. Handed the same
// event again it must return the same events again and change nothing.
//
// What it returns decides what becomes of the delivery:
//
//	events, nil       they are published and confirmed, then the delivery is acknowledged
//	an error          the delivery is retried after the next delay, and parked after the last
//	Permanent(err)    parked at once
//	Unavailable(err)  held, and tried again in place until it works
//	a panic           as an error
//
// It runs concurrently, up to the prefetch. Its context ends when the delivery
// is lost or the service stops for good.
func On[E Event](handle func(context.Context, E) ([]Event, error)) Handler {
	h := Handler{
		event:  NameOf[E](),
		decode: func(body []byte) (Event, error) { return decode[E](body) },
		handle: func(ctx context.Context, e Event) ([]Event, error) { return handle(ctx, e.(E)) },
	}
	if kind := reflect.TypeFor[E]().Kind(); kind == reflect.Pointer || kind == reflect.Interface {
		h.wrong = fmt.Errorf("a handler of %s: events are values, and its type is none", reflect.TypeFor[E]())
	}
	return h
}

// Event is the name of the event that h consumes.
func (h Handler) Event() string { return h.event }

// maxBody is the largest body that can be an event: the door admits 64 KiB.
const maxBody = 64 << 10

var (
	errTooLarge = fmt.Errorf("the body is larger than %d bytes", maxBody)
	errNoKey    = errors.New("its key is empty")
)

func decode[E Event](body []byte) (_ Event, err error) {
	defer func() {
		if v := recover(); v != nil { // in the event's own UnmarshalJSON
			err = fmt.Errorf("decode the body: %w", newPanicError(v))
		}
	}()
	var e E
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	if len(body) > maxBody {
		return nil, errTooLarge
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("the body is no %s: %w", NameOf[E](), err)
	}
	if err := check(e, body); err != nil {
		return nil, fmt.Errorf("the body is no %s: %w", NameOf[E](), err)
	}
	return e, nil
}

// Decode returns the event of a message. An error says that the message is none
// that h consumes, which no retry can mend.
func (h Handler) Decode(m Message) (Event, error) {
	if m.Type != "" && m.Type != h.event {
		return nil, fmt.Errorf("the message is of type %q, not %s", clip(m.Type, 100), h.event)
	}
	return h.decode(m.Body)
}

// HandleFunc handles the event of one delivery.
type HandleFunc func(ctx context.Context, d *Delivery, e Event) ([]Event, error)

// Middleware wraps the handling of every delivery. It runs inside the
// delivery's span, before anything is published or settled, and at each try of
// a held delivery: [Delivery.Tries] tells them apart.
type Middleware func(HandleFunc) HandleFunc

// with is the handler inside its middleware, the first one outermost.
func (h Handler) with(middleware []Middleware) HandleFunc {
	handle := func(ctx context.Context, _ *Delivery, e Event) ([]Event, error) { return h.handle(ctx, e) }
	for _, m := range slices.Backward(middleware) {
		handle = m(handle)
	}
	return handle
}

// safely turns a panic into an error.
func (f HandleFunc) safely(ctx context.Context, d *Delivery, e Event) (events []Event, err error) {
	defer func() {
		if v := recover(); v != nil {
			events, err = nil, newPanicError(v)
		}
	}()
	return f(ctx, d, e)
}
