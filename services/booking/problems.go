package booking

import (
	"context"
	"net/http"
	"time"

	"boxoffice/internal/httpserver"
)

// The types of the door's refusals. Clients may rely on them.
const (
	TypeBusy        = "urn:boxoffice:problem:busy"       // 429: full, and sagas are finishing
	TypeStopped     = "urn:boxoffice:problem:stopped"    // 503: full, and nothing finishes
	TypeDraining    = "urn:boxoffice:problem:draining"   // 503: no bookings are taken
	TypeStarting    = "urn:boxoffice:problem:starting"   // 503: no bookings are taken yet
	TypeStoreDown   = "urn:boxoffice:problem:store"      // 503: the database does not answer
	TypeKeyReused   = "urn:boxoffice:problem:key-reused" // 422: the Idempotency-Key belongs to another booking
	retryWhenClosed = 5 * time.Second
	retryWhenNew    = 2 * time.Second
)

// refuse says why the door takes no booking.
func (s *Service) refuse(ctx context.Context, r refusal) error {
	p := &httpserver.Problem{Status: http.StatusServiceUnavailable, RetryAfter: retryWhenClosed}
	switch r {
	case draining:
		p.Type, p.Title, p.Detail = TypeDraining, "Draining", "No bookings are taken at the moment. Nothing was booked."
	case starting:
		p.Type, p.Title, p.RetryAfter = TypeStarting, "Starting", retryWhenNew
		p.Detail = "The service is starting, and takes no bookings yet. Nothing was booked."
	case full:
		if why := s.stopped(); why != "" {
			p.Type, p.Title, p.Detail = TypeStopped, "Stopped", "Every place is taken, and "+why+". Nothing was booked."
			break
		}
		p.Type, p.Title, p.Status = TypeBusy, "Busy", http.StatusTooManyRequests
		p.Detail = "Every place is taken. Nothing was booked; try again later."
		p.RetryAfter = s.door.retryAfter()
	case admitted:
	}
	s.door.refused(p.Status)
	s.metrics.answer(ctx, p.Status)
	return p
}

// stopped is why nothing finishes, or "" if bookings do: stopped is not the
// same as busy.
func (s *Service) stopped() string {
	if err := s.broker.Ready(); err != nil {
		return "the broker cannot be published to"
	}
	if s.door.idleFor() >= s.cfg.StallAfter {
		return "nothing has finished for " + s.cfg.StallAfter.String()
	}
	return ""
}

func storeDown(err error) error {
	return &httpserver.Problem{
		Type: TypeStoreDown, Title: "Store down", Status: http.StatusServiceUnavailable,
		Detail: "The database does not answer.", RetryAfter: time.Second, Cause: err,
	}
}

func notQuiet() error {
	return &httpserver.Problem{
		Status: http.StatusConflict, Detail: "Only a service that is drained and quiet can be reset; boxoffice reset does all of that.",
	}
}
