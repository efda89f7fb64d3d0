package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
)

// Order is a booking to make, with a fault script or "".
type Order struct {
	Customer string
	Seat     int
	Amount   string
	Fault    string
}

// Answer is what the door says.
type Answer struct {
	Status     int
	RetryAfter time.Duration
	Booking    client.Booking // if the status is 202
}

// String is the status, and when to come again.
func (a Answer) String() string {
	if a.RetryAfter == 0 {
		return fmt.Sprintf("it got %d", a.Status)
	}
	return fmt.Sprintf("it got %d, and may come again in %s", a.Status, a.RetryAfter)
}

// Try asks for a booking, whatever the answer is.
func (s *Stage) Try(ctx context.Context, o Order) (Answer, error) {
	body, err := json.Marshal(map[string]any{"seat": o.Seat, "customer": o.Customer, "amount": json.Number(o.Amount)})
	if err != nil {
		return Answer{}, fmt.Errorf("encode the booking: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Targets.Booking+"/bookings", bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("book: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if o.Fault != "" {
		r.Header.Set("X-Lab-Fault", o.Fault)
	}
	s.asks(+1)
	res, err := s.http.Do(r)
	if err != nil {
		return Answer{}, fmt.Errorf("book: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return Answer{}, fmt.Errorf("book: %w", err)
	}
	a := Answer{Status: res.StatusCode}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		a.RetryAfter = time.Duration(seconds) * time.Second
	}
	if a.Status != http.StatusAccepted {
		s.asks(-1)
		return a, nil
	}
	if err := json.Unmarshal(text, &a.Booking); err != nil {
		return a, fmt.Errorf("book: %w", err)
	}
	id, err := uuid.Parse(a.Booking.ID)
	if err != nil {
		return a, fmt.Errorf("book: %w", err)
	}
	s.asks(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = append(s.accepted, id)
	return a, nil
}

// Book makes a booking that has to be accepted, and shows what comes of it in the end.
func (s *Stage) Book(ctx context.Context, o Order) (client.Booking, error) {
	fault := ""
	if o.Fault != "" {
		fault = ", with the fault script " + o.Fault
	}
	s.Say("%s books seat %d for %s%s", o.Customer, o.Seat, o.Amount, fault)
	a, err := s.Try(ctx, o)
	if err != nil {
		return a.Booking, err
	}
	if a.Status != http.StatusAccepted {
		return a.Booking, fmt.Errorf("the door answers %s's booking with %d, not 202", o.Customer, a.Status)
	}
	s.mu.Lock()
	s.shown = append(s.shown, a.Booking)
	s.mu.Unlock()
	s.Say("202 Accepted: booking %s", a.Booking.ID)
	return a.Booking, s.sameBroker(ctx, a.Booking.ID)
}

// Outcome waits until a booking is finished, or patience ends.
func (s *Stage) Outcome(ctx context.Context, b client.Booking) (client.Booking, error) {
	limited, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	stop := s.waits("for the outcome of %s's booking, %s at most", b.Customer, s.Patience)
	_, err := s.booking.Finish(limited, b)
	stop()
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return b, err
	}
	if b, err = s.Look(ctx, b.ID); err != nil {
		return b, err
	}
	text := b.Status
	if b.Reason != "" {
		text += ", " + b.Reason
	}
	if !b.Finished() {
		text = fmt.Sprintf("still %s, after waiting for %s", b.Status, s.Patience)
	}
	s.Say("%s: %s", b.Customer, text)
	return b, nil
}

// BookAndWait is Book and Outcome.
func (s *Stage) BookAndWait(ctx context.Context, o Order) (client.Booking, error) {
	b, err := s.Book(ctx, o)
	if err != nil {
		return b, err
	}
	return s.Outcome(ctx, b)
}

// Look is a booking as it is now.
func (s *Stage) Look(ctx context.Context, id string) (client.Booking, error) {
	return s.booking.Booking(ctx, id)
}

// Charges are how often the bank charged for a booking.
func (s *Stage) Charges(ctx context.Context, id string) (int, error) {
	var p struct{ Charges int }
	err := s.payments.Get(ctx, "payments/"+id, &p)
	if problem, ok := errors.AsType[*client.ProblemError](err); ok && problem.Status == http.StatusNotFound {
		return 0, nil
	}
	return p.Charges, err
}

// DoorStats are what the door says of itself.
type DoorStats struct {
	Accepting                 bool
	Active, Waiting, Overdue  int
	ActiveLimit, WaitingLimit int
	Redriven                  int
	Broker                    string
}

// Stats asks the door.
func (s *Stage) Stats(ctx context.Context) (DoorStats, error) {
	var d DoorStats
	err := s.booking.Get(ctx, "stats", &d)
	return d, err
}
