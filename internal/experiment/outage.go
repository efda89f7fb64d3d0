package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// brokerStarts ends an outage by our hand.
const brokerStarts = "the broker starts"

// StopBroker makes the broker unreachable, by our hand or by a person's.
func (s *Stage) StopBroker(ctx context.Context) error {
	s.cutOff = true
	if s.Outage != nil {
		s.Say("the broker stops")
		s.owe(brokerStarts, s.Outage.Start)
		return s.Outage.Stop(ctx)
	}
	s.Say("Stop the broker now, in another terminal: docker compose stop rabbitmq")
	s.Say("(without Docker: rabbitmqctl stop_app). You have %s.", inMinutes(forPeople))
	s.Say("Leave it off until you are told to start it again, about %s later; have it back within %s then.", 2*aWhile, longest)
	s.asked = true
	return s.person(ctx, "stop the broker", false, forPeople)
}

// StartBroker ends the outage.
func (s *Stage) StartBroker(ctx context.Context) error {
	if s.Outage != nil {
		return s.mend(ctx, brokerStarts, s.Outage.Start)
	}
	began := time.Now()
	s.Say("Start it again now, within %s: docker compose start rabbitmq (or rabbitmqctl start_app)", longest)
	if err := s.person(ctx, "start the broker again", true, longest); err != nil {
		return err
	}
	s.asked = false
	s.Say("the broker is back, %s after you were asked", short(time.Since(began)))
	return nil
}

// remind tells who was asked to stop the broker that it is still stopped. Its
// error, a *MendError, says so too.
func (s *Stage) remind(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mending)
	defer cancel()
	up, err := s.brokerIs(ctx, true)
	switch {
	case err != nil:
		return &MendError{brokerStarts, err}
	case up:
		return nil
	}
	s.Say("the broker is still stopped: docker compose start rabbitmq (or rabbitmqctl start_app)")
	return &MendError{brokerStarts, errors.New("you stopped it, and it is still stopped")}
}

// canStop is nil if the broker can be made unreachable.
func (s *Stage) canStop() error {
	if s.Outage == nil && s.Inside {
		return fmt.Errorf("%w: the broker is inside boxoffice up, where nobody can stop it alone; leave --url out", ErrCannot)
	}
	return nil
}

const (
	// forPeople is how long a person may take.
	forPeople = 2 * time.Minute
	// longest is how long the outage may go on, so that its bookings finish before
	// the saga deadline of a minute, which would repair what was lost.
	longest = 40 * time.Second
)

// person waits for what only a person can do, until the booking service sees it.
// It should be done within the given time, and is waited for longer.
func (s *Stage) person(ctx context.Context, what string, up bool, within time.Duration) error {
	end := time.Now().Add(within)
	stop := s.progress(func() string {
		left := time.Until(end)
		if left < 0 {
			return fmt.Sprintf("waiting for you to %s: it was due %s ago", what, short(-left))
		}
		return fmt.Sprintf("waiting for you to %s: %s left", what, short(left))
	})
	ok, err := s.Until(ctx, forPeople, func(ctx context.Context) (bool, error) { return s.brokerIs(ctx, up) })
	stop()
	if err == nil && !ok {
		err = fmt.Errorf("%w: you did not %s within %s", ErrCannot, what, inMinutes(forPeople))
	}
	return err
}

func inMinutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }

// brokerIs reports whether the booking service sees the broker so.
func (s *Stage) brokerIs(ctx context.Context, up bool) (bool, error) {
	stats, err := s.Stats(ctx)
	return (stats.Broker == brokerOK) == up, err
}

// brokerOK is what the booking service says of a broker that it reaches.
const brokerOK = "ok"

// progress shows a line while something takes its time, until stop.
func (s *Stage) progress(look func() string) (stop func()) {
	if s.Progress == nil {
		return func() {}
	}
	return s.Progress(look)
}
