package experiment

import (
	"context"
	"errors"
	"time"

	"boxoffice/internal/lab"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
)

// Stack is what experiments run on: three services, and as much of their broker
// as there is a hand on.
type Stack struct {
	Targets verify.Targets
	What    string // it is, for people
	Own     bool   // it was started for one experiment

	Broker messaging.Broker // to publish events and to watch them; nil: none
	At     string           // it is, without a password
	Outage Outage           // stops the broker; nil: a person has to
	Inside bool             // the broker is in the services' process, where a person cannot
	Parked Parked
	// Queues are how many messages work and wait queues have, once settled, or
	// why nobody knows. It waits for them to be empty until the deadline.
	Queues func(ctx context.Context, settled, deadline time.Time) (depths map[string]int, unknown string, err error)
	// Tree draws a trace; nil: it is not kept here.
	Tree func(ctx context.Context, traceID string) string
	// Hint is the commands that show a booking; nil: none can.
	Hint func(bookingID string) []string
	// Progress shows a line while a person is waited for, until stop; nil: it does not.
	Progress func(look func() string) (stop func())
	// Unsafe is the safety that is off, as far as is known here.
	Unsafe lab.Unsafe

	RetryDelays []time.Duration // of the services
	Patience    time.Duration   // with what should happen; shorter than the saga deadline
}

// Outage makes the broker unreachable, and reachable again.
type Outage interface {
	Stop(context.Context) error
	Start(context.Context) error
}

// Parked is one booking's parked messages. Where nobody knows of them, the
// errors wrap ErrCannot.
type Parked interface {
	// List is those of all bookings, if the id is "".
	List(ctx context.Context, bookingID string) ([]messaging.DeadLetter, error)
	Redrive(ctx context.Context, bookingID string) (int, error)
}

// ErrCannot is the error, wrapped, of an experiment that this stack does not allow.
var ErrCannot = errors.New("cannot be tried here")
