package messaging

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Permanent marks an error that no retry can mend: the delivery is parked at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, permanent: true}
}

// Unavailable marks an error that is ours, not the message's: the store is
// down, the bank does not answer. The delivery is held and tried again in
// place, for as long as it takes; it counts as no attempt and is never parked.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err}
}

// IsPermanent reports whether err was marked by [Permanent].
func IsPermanent(err error) bool {
	var m *marked
	return errors.As(err, &m) && m.permanent
}

// IsUnavailable reports whether err was marked by [Unavailable], or is the end
// of a context, which says nothing about the message either.
func IsUnavailable(err error) bool {
	if m, ok := errors.AsType[*marked](err); ok {
		return !m.permanent
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

type marked struct {
	err       error
	permanent bool
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }

// panicError is a recovered panic, with the stack of the handler.
type panicError struct {
	value any
	stack []byte
}

func newPanicError(v any) error { return &panicError{value: v, stack: debug.Stack()} }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }
