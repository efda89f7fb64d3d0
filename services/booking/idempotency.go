package booking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/services/booking/internal/door"
	"boxoffice/services/booking/internal/row"
	"boxoffice/services/booking/internal/store"
)

// replay returns the booking that was made with the key before, if there is
// one. Where that cannot be known the outcome is unknown, for an earlier request
// with the key may have booked.
func (s *Service) replay(ctx context.Context, ask request, watch func(uuid.UUID)) (row.Booking, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, store.KeyLookup)
	defer cancel()
	found, err := s.store.ByKey(ctx, ask.key)
	switch {
	case database.MissingTable(err): // the service has never worked on this database
		return row.Booking{}, false, s.refuse(ctx, door.Starting)
	case err != nil:
		return row.Booking{}, false, s.unknownOutcome(ctx, ask.key, fmt.Errorf("look up the Idempotency-Key: %w", err))
	case found == nil && s.door.DoubtsKey(ask.key):
		return row.Booking{}, false, s.unknownOutcome(ctx, ask.key, errStillRunning)
	case found == nil:
		return row.Booking{}, false, nil
	case found.Seat != ask.wish.Seat || found.Customer != ask.wish.Customer || found.Amount != ask.wish.Amount:
		return row.Booking{}, false, &httpserver.Problem{
			Type: TypeKeyReused, Title: "Key reused", Status: http.StatusUnprocessableEntity,
			Detail: "This Idempotency-Key was used for another booking.",
			Errors: []httpserver.FieldError{{Field: "Idempotency-Key", Detail: "belongs to a booking with another seat, customer or amount"}},
		}
	}
	if found.Status == Pending {
		watch(found.ID)
		if now, err := s.store.Get(ctx, found.ID); err == nil { // no outcome slips between the lookup and the watch
			found = &now
		}
	}
	return *found, true, nil
}

var errStillRunning = errors.New("the commit of an earlier request with this key may still be running")

// inProgress lets one request of each key through at a time: one beside it
// waits for what it books.
type inProgress struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

func newInProgress() *inProgress { return &inProgress{keys: make(map[string]chan struct{})} }

// enter waits for its turn with the key, and is an error if ctx ends first.
func (p *inProgress) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		p.mu.Lock()
		busy, ok := p.keys[key]
		if !ok {
			done := make(chan struct{})
			p.keys[key] = done
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				delete(p.keys, key)
				p.mu.Unlock()
				close(done)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
