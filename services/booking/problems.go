package booking

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/incident"
	"boxoffice/services/booking/internal/door"
)

// The types of the door's refusals. Clients may rely on them.
const (
	TypeBusy        = "urn:boxoffice:problem:busy"            // 429: full, and sagas are finishing
	TypeStopped     = "urn:boxoffice:problem:stopped"         // 503: full, and nothing finishes
	TypeDraining    = "urn:boxoffice:problem:draining"        // 503: no bookings are taken
	TypeStarting    = "urn:boxoffice:problem:starting"        // 503: no bookings are taken yet
	TypeStoreDown   = "urn:boxoffice:problem:store"           // 503: the database does not answer
	TypeUnknown     = "urn:boxoffice:problem:unknown-outcome" // 504: it may be booked or not
	TypeKeyReused   = "urn:boxoffice:problem:key-reused"      // 422: the Idempotency-Key belongs to another booking
	retryWhenClosed = 5 * time.Second
	retryWhenNew    = 2 * time.Second
	retryWhenKnown  = time.Second // what is unknown is looked up every second
)

// refuse says why the door takes no booking.
func (s *Service) refuse(ctx context.Context, r door.Refusal) error {
	p := &httpserver.Problem{Status: http.StatusServiceUnavailable, RetryAfter: retryWhenClosed}
	switch r {
	case door.Draining:
		p.Type, p.Title, p.Detail = TypeDraining, "Draining", "No bookings are taken at the moment. Nothing was booked."
	case door.Starting:
		p.Type, p.Title, p.RetryAfter = TypeStarting, "Starting", retryWhenNew
		p.Detail = "The service is starting, and takes no bookings yet. Nothing was booked."
	case door.Full:
		if why := s.stopped(); why != "" {
			p.Type, p.Title, p.Detail = TypeStopped, "Stopped", "Every place is taken, and "+why+". Nothing was booked."
			break
		}
		p.Type, p.Title, p.Status = TypeBusy, "Busy", http.StatusTooManyRequests
		p.Detail = "Every place is taken. Nothing was booked; try again later."
		p.RetryAfter = s.door.RetryAfter()
	case door.Admitted:
	}
	s.incidents.Report(ctx, incident.Condition{
		Begins: fmt.Sprintf("the door answers %d: %s", p.Status, p.Title),
		Ends:   fmt.Sprintf("the door no longer answers %d: %s", p.Status, p.Title),
	}, nil)
	if p.Status == http.StatusTooManyRequests {
		s.door.Throttled()
	} else {
		s.door.Unavailable()
	}
	s.metrics.answer(ctx, p.Status)
	return p
}

// stopped is why nothing finishes, or "" if bookings do: stopped is not the
// same as busy.
func (s *Service) stopped() string {
	if err := s.broker.Ready(); err != nil {
		return "the broker cannot be published to"
	}
	if s.door.IdleFor() >= s.cfg.StallAfter {
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

// unknownOutcome answers 504: a commit was sent and not answered, so that
// nobody knows whether it booked.
func (s *Service) unknownOutcome(ctx context.Context, key string, cause error) error {
	detail := "It may have been booked: look for it in the bookings (GET /bookings)."
	if key != "" {
		detail = "It may have been booked: repeat it with the same Idempotency-Key."
	}
	s.metrics.answer(ctx, http.StatusGatewayTimeout)
	return &httpserver.Problem{
		Type: TypeUnknown, Title: "Unknown outcome", Status: http.StatusGatewayTimeout, Detail: detail,
		RetryAfter: retryWhenKnown, Cause: cause,
	}
}

func notQuiet() error {
	return &httpserver.Problem{
		Status: http.StatusConflict, Detail: "Only a service that is drained and quiet can be reset; boxoffice reset does all of that.",
	}
}
