package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// debt is something that was broken on purpose, and has to be mended.
type debt struct {
	what string // is so once it is mended
	mend func(context.Context) error
}

// MendError says that what an experiment broke on purpose is still broken.
type MendError struct {
	What string // could not be had again
	Err  error
}

func (e *MendError) Error() string { return fmt.Sprintf("clean up, so that %s: %v", e.What, e.Err) }
func (e *MendError) Unwrap() error { return e.Err }

// owe notes how to mend what is going to be broken, whatever happens then.
func (s *Stage) owe(what string, mend func(context.Context) error) {
	s.paid(what)
	s.debts = append(s.debts, debt{what, mend})
}

// paid forgets what has been mended.
func (s *Stage) paid(what string) {
	s.debts = slices.DeleteFunc(s.debts, func(d debt) bool { return d.what == what })
}

// mend mends as a part of the scene.
func (s *Stage) mend(ctx context.Context, what string, mend func(context.Context) error) error {
	s.Say("%s", what)
	if err := mend(ctx); err != nil {
		return labError(err)
	}
	s.paid(what)
	return nil
}

// mending is how long that may take.
const mending = 10 * time.Second

// restore mends what is still broken on purpose, the last first, also after ctx
// has ended. Its error is a *MendError.
func (s *Stage) restore(ctx context.Context) error {
	if s.Own && ctx.Err() != nil {
		return nil // the services end with it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mending)
	defer cancel()
	var first error
	for _, d := range slices.Backward(s.debts) {
		s.Say("clean up: %s", d.what)
		if err := d.mend(ctx); err != nil && first == nil {
			first = &MendError{d.what, err}
		}
	}
	s.debts = nil
	return first
}
