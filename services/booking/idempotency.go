package booking

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
)

// headerReplayed says that an answer repeats an earlier booking.
const headerReplayed = "Idempotent-Replayed"

// keyLookup bounds the lookup of a key, the one that a request costs a full door.
const keyLookup = 2 * time.Second

// idempotencyKey reads Idempotency-Key; "" if there is none.
func idempotencyKey(c echo.Context) (string, error) {
	values := c.Request().Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 255
	for _, r := range []byte(key) {
		ok = ok && r > ' ' && r < 0x7f
	}
	if !ok {
		return "", &httpserver.Problem{
			Type: httpserver.TypeMalformed, Title: "Malformed request", Status: http.StatusBadRequest, Detail: "A header is wrong.",
			Errors: []httpserver.FieldError{{Field: "Idempotency-Key", Detail: "must be 1 to 255 visible ASCII characters, once"}},
		}
	}
	return key, nil
}

// replay returns the booking that was made with the key before, if there is
// one. Where that cannot be known the outcome is unknown, for an earlier request
// with the key may have booked.
func (s *Service) replay(ctx context.Context, key string, wish Booking, watch func(uuid.UUID)) (Booking, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, keyLookup)
	defer cancel()
	found, err := s.store.byKey(ctx, key)
	switch {
	case database.MissingTable(err): // the service has never worked on this database
		return Booking{}, false, s.refuse(ctx, starting)
	case err != nil:
		return Booking{}, false, s.unknownOutcome(ctx, key, err)
	case found == nil && s.door.doubtsKey(key):
		return Booking{}, false, s.unknownOutcome(ctx, key, errStillRunning)
	case found == nil:
		return Booking{}, false, nil
	case found.Seat != wish.Seat || found.Customer != wish.Customer || found.Amount != wish.Amount:
		return Booking{}, false, &httpserver.Problem{
			Type: TypeKeyReused, Title: "Key reused", Status: http.StatusUnprocessableEntity,
			Detail: "This Idempotency-Key was used for another booking.",
			Errors: []httpserver.FieldError{{Field: "Idempotency-Key", Detail: "belongs to a booking with another seat, customer or amount"}},
		}
	}
	if found.Status == Pending {
		watch(found.ID)
		if now, err := s.store.get(ctx, found.ID); err == nil { // no outcome slips between the lookup and the watch
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
