package experiment

import (
	"context"
	"errors"
	"time"

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
	Outage Outage           // stops the broker; nil: a person has to
	Parked Parked
	// Queues are how many messages work and wait queues have, once settled, or
	// why nobody knows. It waits for them to be empty until the deadline.
	Queues func(ctx context.Context, settled, deadline time.Time) (depths map[string]int, unknown string, err error)
	// Tree draws a trace; nil: it is not kept here.
	Tree func(ctx context.Context, traceID string) string

	RetryDelays []time.Duration // of the services
	Patience    time.Duration   // with what should happen; shorter than the saga deadline
}

// Outage makes the broker unreachable, and reachable again.
type Outage interface {
	Stop(context.Context) error
	Start(context.Context) error
}

// Parked is one booking's parked messages.
type Parked interface {
	List(ctx context.Context, bookingID string) ([]messaging.DeadLetter, error)
	Redrive(ctx context.Context, bookingID string) (int, error)
}

// ErrCannot is the error, wrapped, of an experiment that this stack does not allow.
var ErrCannot = errors.New("cannot be tried here")
