package load

import (
	"context"
	"time"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// Mode is what makes the next booking come.
type Mode string

// The modes.
const (
	Open   Mode = "open"   // the time
	Closed Mode = "closed" // the outcome of the one before
)

// Config is what to offer.
type Config struct {
	Mode Mode

	Rate           float64 // open: bookings per second
	MaxOutstanding int     // open: requests without an answer at a time, clients that are to retry included
	Concurrency    int     // closed: clients

	Duration time.Duration // how long bookings are offered
	Count    int           // at most so many of them; 0: no limit
	Settle   time.Duration // how long answers and outcomes may take after that

	Seats   int // they are drawn from 1 to Seats
	Choice  Choice
	Amount  tickets.Amount
	Retries int // of a booking that is refused with 429 or 503, each after its Retry-After
}

// Service is what is driven: a [*client.Client].
type Service interface {
	Book(ctx context.Context, w client.Wish) (client.Booking, error)
	Finish(ctx context.Context, b client.Booking) (client.Booking, error)
	Bookings(ctx context.Context, status, after string, limit int) (client.Page, error)
}
