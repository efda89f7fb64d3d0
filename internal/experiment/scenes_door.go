package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"boxoffice/internal/client"
)

func door(ctx context.Context, s *Stage) error {
	before, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	room := before.ActiveLimit + before.WaitingLimit
	s.Say("the door has room for %d active bookings and %d waiting ones", before.ActiveLimit, before.WaitingLimit)
	crowd, err := s.holdActive(ctx, before.ActiveLimit)
	if err != nil {
		return err
	}
	s.Say("clients book %s, one after the other%s", crowd.seatsInWords(), but(len(crowd.seats) == room, "who waits finds the seat sold, and is Rejected in the end"))
	var taken []client.Booking
	var refused Answer
	for i := range room + 1 {
		a, err := s.Try(ctx, crowd.order(i))
		if err != nil {
			return err
		}
		if a.Status != http.StatusAccepted {
			refused = a
			break
		}
		taken = append(taken, a.Booking)
	}
	s.Expect(len(taken) == room, "exactly %d bookings are taken%s", room, but(len(taken) == room, "%d were", len(taken)))
	s.shown = append(s.shown, ends(taken)...)
	s.Expect(refused.Status == http.StatusTooManyRequests && refused.RetryAfter > 0, "the next one gets a 429, with Retry-After (%s)", refused)
	s.Say("nothing finishes: after STALL_AFTER the door says that it is stopped, not busy")
	stop := s.waits("for the first 503, %s at most", s.Patience)
	stopped, err := s.Until(ctx, s.Patience, func(ctx context.Context) (bool, error) {
		a, err := s.Try(ctx, crowd.order(room))
		return a.Status == http.StatusServiceUnavailable, err
	})
	stop()
	if err != nil {
		return err
	}
	s.Expect(stopped, "the door answers 503 now")
	if crowd.held == 0 {
		if err := s.Gate(ctx, false); err != nil {
			return err
		}
	}
	return s.allFinish(ctx, taken, crowd.held+s.Patience)
}

// queuers are those who want to get in.
type queuers struct {
	seats []int
	first int           // the active ones
	held  time.Duration // by seats, for so long; 0: at the bank's gate
}

// holdActive keeps the first ones active: at the bank's gate if the hall has a
// seat for each, or else by their fault scripts, before they get one.
func (s *Stage) holdActive(ctx context.Context, first int) (q queuers, err error) {
	q.first = first
	seats := first
	if s.total-len(s.taken) < first {
		seats = 1
		q.held = s.Patience + 10*time.Second // outlasts filling the door, and the patience with its 503
		s.Say("the hall has too few seats for them: seats holds each active booking for %s", q.held)
	} else if err := s.Gate(ctx, true); err != nil {
		return q, err
	}
	for range seats {
		seat, err := s.FreeSeat()
		if err != nil {
			return q, err
		}
		q.seats = append(q.seats, seat)
	}
	return q, nil
}

func (q queuers) seatsInWords() string {
	if len(q.seats) == 1 {
		return fmt.Sprintf("seat %d", q.seats[0])
	}
	return fmt.Sprintf("%d seats", len(q.seats))
}

func (q queuers) order(i int) Order {
	o := Order{Customer: fmt.Sprintf("client%d", i+1), Seat: q.seats[i%len(q.seats)], Amount: "450"}
	if q.held > 0 && i < q.first {
		o.Fault = "seats.BookingCreated=delay:" + q.held.String()
	}
	return o
}

// ends is the first and the last of them.
func ends(bookings []client.Booking) []client.Booking {
	if len(bookings) < 3 {
		return bookings
	}
	return []client.Booking{bookings[0], bookings[len(bookings)-1]}
}

// allFinish expects that of the bookings that were taken.
func (s *Stage) allFinish(ctx context.Context, taken []client.Booking, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	finished := 0
	for _, b := range taken {
		if _, err := s.booking.Finish(limited, b); err == nil {
			finished++
		} else if ctx.Err() != nil {
			return err
		}
	}
	s.Expect(finished == len(taken), "all %d that were taken finish%s", len(taken), but(finished == len(taken), "%d did", finished))
	return nil
}

func drain(ctx context.Context, s *Stage) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	other, err := s.FreeSeat()
	if err != nil {
		return err
	}
	if err := s.Gate(ctx, true); err != nil {
		return err
	}
	b, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450"})
	if err != nil {
		return err
	}
	if err := s.Drain(ctx, true); err != nil {
		return err
	}
	s.Say("maria books seat %d for 600", other)
	a, err := s.Try(ctx, Order{Customer: "maria", Seat: other, Amount: "600"})
	if err != nil {
		return err
	}
	s.Expect(a.Status == http.StatusServiceUnavailable && a.RetryAfter > 0, "maria is sent away with a 503, with Retry-After (%s)", a)
	if err := s.Gate(ctx, false); err != nil {
		return err
	}
	if b, err = s.Outcome(ctx, b); err != nil {
		return err
	}
	s.Expect(b.Status == "Confirmed", "olena's booking finishes behind the closed door")
	if err := s.Drain(ctx, false); err != nil {
		return err
	}
	maria, err := s.BookAndWait(ctx, Order{Customer: "maria", Seat: other, Amount: "600"})
	s.Expect(maria.Status == "Confirmed", "maria gets her seat now")
	return err
}

func brokerOutage(ctx context.Context, s *Stage) error {
	if err := s.canStop(); err != nil {
		return err
	}
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	other, err := s.FreeSeat()
	if err != nil {
		return err
	}
	if err := s.Gate(ctx, true); err != nil {
		return err
	}
	olena, err := s.Book(ctx, Order{Customer: "olena", Seat: seat, Amount: "450"})
	if err != nil {
		return err
	}
	if err := s.Pause(ctx, aWhile); err != nil { // she is at the bank by then
		return err
	}
	if err := s.StopBroker(ctx); err != nil {
		return err
	}
	maria, err := s.Book(ctx, Order{Customer: "maria", Seat: other, Amount: "600"})
	if err != nil {
		return err
	}
	if err := s.Gate(ctx, false); err != nil {
		return err
	}
	if err := s.Pause(ctx, aWhile); err != nil {
		return err
	}
	if maria, err = s.Look(ctx, maria.ID); err != nil {
		return err
	}
	s.Expect(maria.Status == "Pending", "maria's booking is taken, and waits in its row: she is Pending")
	if err := s.StartBroker(ctx); err != nil {
		return err
	}
	for _, b := range []client.Booking{olena, maria} {
		if b, err = s.Outcome(ctx, b); err != nil {
			return err
		}
		if err := s.paidOnce(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func bankOutage(ctx context.Context, s *Stage) error {
	if err := s.canLook(ctx); err != nil {
		return err
	}
	before, err := s.attemptsSpent(ctx)
	if err != nil {
		return err
	}
	olena, err := s.bookAtBank(ctx, "olena", "before")
	if err != nil {
		return err
	}
	if err := s.Pause(ctx, aWhile); err != nil {
		return err
	}
	if olena, err = s.Look(ctx, olena.ID); err != nil {
		return err
	}
	s.Expect(olena.Status == "Pending", "olena's payment is held, and tried again in place: she is Pending")
	maria, err := s.bookAtBank(ctx, "maria", "after")
	if err != nil {
		return err
	}
	s.Say("each charge is made now, but its answer is lost: the next try finds it in the bank's ledger")
	for _, b := range []client.Booking{maria, olena} {
		if err := s.paidAfterAll(ctx, b); err != nil {
			return err
		}
	}
	if err := s.BankAnswers(ctx); err != nil {
		return err
	}
	if err := s.bankDelays(ctx); err != nil {
		return err
	}
	spent, err := s.attemptsSpent(ctx)
	s.Expect(spent == before, "no attempt at a payment is spent%s", but(spent == before, "%d are", spent-before))
	return err
}

// attemptsSpent is how many payments the payments service has sent to wait for
// another attempt since it started.
func (s *Stage) attemptsSpent(ctx context.Context) (n int, err error) {
	fails := func(err error) (int, error) { return 0, fmt.Errorf("read the metrics of payments: %w", err) }
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Targets.Payments+"/metrics", nil)
	if err != nil {
		return fails(err)
	}
	res, err := s.http.Do(r)
	if err != nil {
		return fails(err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil || res.StatusCode != http.StatusOK {
		return fails(cmp.Or(err, errors.New(res.Status)))
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "boxoffice_messages_retried_total{") && strings.Contains(line, `event="SeatReserved"`) {
			count, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndex(line, "}")+1:]))
			if err != nil {
				return fails(err)
			}
			n += count
		}
	}
	return n, nil
}

// bankDelays is a bank that fails nobody, and keeps them waiting.
func (s *Stage) bankDelays(ctx context.Context) error {
	seat, err := s.FreeSeat()
	if err != nil {
		return err
	}
	if err := s.Gate(ctx, true); err != nil {
		return err
	}
	ivan, err := s.Book(ctx, Order{Customer: "ivan", Seat: seat, Amount: "450"})
	if err != nil {
		return err
	}
	if err := s.Pause(ctx, aWhile); err != nil {
		return err
	}
	if ivan, err = s.Look(ctx, ivan.ID); err != nil {
		return err
	}
	s.Expect(ivan.Status == "Pending", "ivan waits as long as the bank takes: he is Pending")
	if err := s.Gate(ctx, false); err != nil {
		return err
	}
	return s.paidAfterAll(ctx, ivan)
}

// paidAfterAll expects that a booking which the bank held up is charged once, and
// not parked.
func (s *Stage) paidAfterAll(ctx context.Context, b client.Booking) error {
	b, err := s.Outcome(ctx, b)
	if err != nil {
		return err
	}
	if err := s.paidOnce(ctx, b); err != nil {
		return err
	}
	letters, err := s.Parked.List(ctx, b.ID)
	if err != nil {
		return err
	}
	s.Expect(len(letters) == 0, "nothing of %s's is parked%s", b.Customer, but(len(letters) == 0, "%d are", len(letters)))
	return nil
}

// bookAtBank books while the bank fails.
func (s *Stage) bookAtBank(ctx context.Context, customer, when string) (client.Booking, error) {
	seat, err := s.FreeSeat()
	if err != nil {
		return client.Booking{}, err
	}
	if err := s.Bank(ctx, when); err != nil {
		return client.Booking{}, err
	}
	return s.Book(ctx, Order{Customer: customer, Seat: seat, Amount: "450"})
}
