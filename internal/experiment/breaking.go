package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"boxoffice/internal/client"
	"boxoffice/messaging"
)

// Gate closes or opens the gate in front of the bank.
func (s *Stage) Gate(ctx context.Context, closed bool) error {
	if !closed {
		s.Say("the bank's gate opens")
		return labError(s.payments.Post(ctx, "lab/gate/open"))
	}
	s.Say("the bank's gate is closed: every charge waits")
	s.undo = append(s.undo, func(ctx context.Context) error { return s.payments.Post(ctx, "lab/gate/open") })
	return labError(s.payments.Post(ctx, "lab/gate/close"))
}

// Bank makes the bank fail with a probability, before the charge or after it.
func (s *Stage) Bank(ctx context.Context, failure float64, when string) error {
	set := func(ctx context.Context, failure float64) error {
		return s.payments.Send(ctx, "lab/bank", map[string]any{"failure": failure, "when": when}, nil)
	}
	if failure == 0 {
		s.Say("the bank answers again")
	} else {
		s.Say("the bank does not answer: it fails %s the charge", when)
		s.undo = append(s.undo, func(ctx context.Context) error { return set(ctx, 0) })
	}
	return labError(set(ctx, failure))
}

// Drain closes the door of the booking service, or opens it again.
func (s *Stage) Drain(ctx context.Context, draining bool) error {
	if !draining {
		s.Say("the door opens again")
		return labError(s.booking.Post(ctx, "lab/resume"))
	}
	s.Say("the door is draining")
	s.undo = append(s.undo, func(ctx context.Context) error { return s.booking.Post(ctx, "lab/resume") })
	return labError(s.booking.Post(ctx, "lab/drain"))
}

// labError says what to do about services without a lab.
func labError(err error) error {
	if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Status == http.StatusNotFound {
		return fmt.Errorf("%w: the services' lab is off; start them with LAB=on", ErrCannot)
	}
	return err
}

// StopBroker makes the broker unreachable, by our hand or by a person's.
func (s *Stage) StopBroker(ctx context.Context) error {
	if s.Outage != nil {
		s.Say("the broker stops")
		s.undo = append(s.undo, s.Outage.Start)
		return s.Outage.Stop(ctx)
	}
	return s.person(ctx, "Stop the broker now, for example: docker compose stop rabbitmq", false)
}

// StartBroker ends the outage.
func (s *Stage) StartBroker(ctx context.Context) error {
	if s.Outage != nil {
		s.Say("the broker starts")
		return s.Outage.Start(ctx)
	}
	return s.person(ctx, "Start it again now, for example: docker compose start rabbitmq", true)
}

// forPeople is how long a person may take.
const forPeople = 2 * time.Minute

// person asks for what only a person can do, and waits until the booking service sees it.
func (s *Stage) person(ctx context.Context, what string, up bool) error {
	s.Say("%s", what)
	ok, err := s.Until(ctx, forPeople, func(ctx context.Context) (bool, error) {
		stats, err := s.Stats(ctx)
		return (stats.Broker == "ok") == up, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("%w: nobody did it within %s", ErrCannot, forPeople)
	}
	return err
}

// WaitParked waits until a message of the booking is parked; nil if none is in time.
func (s *Stage) WaitParked(ctx context.Context, b client.Booking) (*messaging.DeadLetter, error) {
	var letters []messaging.DeadLetter
	_, err := s.Until(ctx, s.Patience, func(ctx context.Context) (_ bool, err error) {
		letters, err = s.Parked.List(ctx, b.ID)
		return len(letters) > 0, err
	})
	if err != nil || len(letters) == 0 {
		return nil, err
	}
	return &letters[0], nil
}
