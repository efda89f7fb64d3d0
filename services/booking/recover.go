package booking

import (
	"context"

	"boxoffice/services/booking/internal/row"
)

// recover takes up, after a start, what this instance had left unfinished: it
// fills the door, which publishes the first event of every booking that has a
// place to run, and of those whose seat was not yet released, and is open then:
// nothing was admitted before.
func (s *Service) recover(ctx context.Context) error {
	if _, err := s.store.Seen(ctx); err != nil { // before anything waits here
		return err
	}
	if err := s.store.Hasten(ctx); err != nil {
		return err
	}
	unfinished, err := s.store.Mine(ctx)
	if err != nil {
		return err
	}
	if len(unfinished) > 0 {
		pending := 0
		for _, o := range unfinished {
			if o.Status == row.Pending {
				pending++
			}
		}
		s.log.InfoContext(ctx, "taking up unfinished bookings", "pending", pending, "seat not released", len(unfinished)-pending)
	}
	s.door.Restore(unfinished, s.cfg.SagaDeadline)
	return nil
}
