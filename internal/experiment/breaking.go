package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/messaging"
)

// Gate closes or opens the gate in front of the bank.
func (s *Stage) Gate(ctx context.Context, closed bool) error {
	const mend = "the bank's gate opens"
	if closed {
		s.Say("the bank's gate is closed: every charge waits")
		s.owe(mend, s.payments.OpenGate)
		return labError(s.payments.Post(ctx, "lab/gate/close"))
	}
	return s.mend(ctx, mend, s.payments.OpenGate)
}

// Bank makes the bank fail each charge, "before" it is made or "after" it.
func (s *Stage) Bank(ctx context.Context, when string) error {
	s.Say("the bank does not answer: it fails %s the charge", when)
	s.owe(bankAnswers, s.payments.MendBank)
	return labError(s.payments.FailBank(ctx, 1, when))
}

// BankAnswers ends that.
func (s *Stage) BankAnswers(ctx context.Context) error {
	return s.mend(ctx, bankAnswers, s.payments.MendBank)
}

const bankAnswers = "the bank answers again"

// Drain closes the door of the booking service, or opens it again.
func (s *Stage) Drain(ctx context.Context, draining bool) error {
	const mend = "the door opens again"
	open := func(ctx context.Context) error { return s.booking.Post(ctx, "lab/resume") }
	if draining {
		s.Say("the door is draining")
		s.owe(mend, open)
		return labError(s.booking.Post(ctx, "lab/drain"))
	}
	return s.mend(ctx, mend, open)
}

// labError says what to do about services without a lab.
func labError(err error) error {
	if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Status == http.StatusNotFound {
		return fmt.Errorf("%w: the services' lab is off, and without it nothing can be broken; start them with LAB=on", ErrCannot)
	}
	return err
}

// canLook is nil if there is a way to see parked messages.
func (s *Stage) canLook(ctx context.Context) error {
	_, err := s.Parked.List(ctx, uuid.Nil.String())
	return err
}

// WaitParked waits until a message of the booking is parked; nil if none is in time.
func (s *Stage) WaitParked(ctx context.Context, b client.Booking) (*messaging.DeadLetter, error) {
	stop := s.waits("until a message of %s's is parked, %s at most", b.Customer, s.Patience)
	defer stop()
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
