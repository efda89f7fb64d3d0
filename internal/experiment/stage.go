package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/internal/verify"
)

// Stage is where one experiment is played.
type Stage struct {
	Stack
	out               io.Writer
	began             time.Time
	booking, payments *client.Client
	http              *http.Client
	watch             *watch // nil without a broker
	total             int    // seats of the hall
	taken             map[int]bool
	debts             []debt
	asked             bool               // a person was, to stop the broker
	cutOff            bool               // the broker was away, for the watch too
	same              bool               // the services' events were seen on the broker
	redriven          int                // bookings, before it began
	before            map[uuid.UUID]bool // the bookings that there were
	queues            []string           // worth a look, that depend on settings

	saying     sync.Mutex
	mu         sync.Mutex
	accepted   []uuid.UUID
	unanswered int              // tries: each may have made a booking that we do not know
	shown      []client.Booking // whose events and traces are worth a look
	broken     []string
	violated   []int // invariants
}

// newStage is a stage that has not begun yet. Close it.
func newStage(s Stack, out io.Writer) (*Stage, error) {
	booking, err := client.New(s.Targets.Booking)
	if err != nil {
		return nil, err
	}
	payments, err := client.New(s.Targets.Payments)
	if err != nil {
		return nil, err
	}
	return &Stage{
		Stack: s, out: out, booking: booking, payments: payments,
		http: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: hanging}, taken: map[int]bool{}, before: map[uuid.UUID]bool{},
	}, nil
}

// hanging is how long a service may take to answer before it is as good as away.
const hanging = 10 * time.Second

// leftOver is how long bookings may run that somebody has left behind, such as
// an experiment that was interrupted.
const leftOver = 3 * time.Second

// begin looks whether the services are in order, and starts the clock.
func (s *Stage) begin(ctx context.Context) error {
	before, found, err := verify.Look(ctx, s.take, leftOver)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return notReady(fmt.Sprintf("something is broken, or still running, before it begins (%s)", found[0]))
	}
	door, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	if !door.Accepting {
		return notReady("the booking service takes no bookings before it begins")
	}
	if door.Broker != brokerOK {
		return fmt.Errorf("%w: the booking service has no broker before it begins: %s", ErrCannot, door.Broker)
	}
	s.redriven = door.Redriven
	for _, b := range before.Bookings {
		s.before[b.ID] = true
	}
	s.total = before.Total
	for _, h := range before.Held {
		s.taken[h.Seat] = true
	}
	if s.Broker != nil {
		if s.watch, err = newWatch(ctx, s.Broker); err != nil {
			return err
		}
	}
	s.began = time.Now()
	s.Say("set up: %s", s.What)
	return nil
}

func notReady(why string) error {
	return fmt.Errorf("%w: %s: if another experiment, or someone else, uses this stack, let that end first; "+
		"else see boxoffice verify, or empty the stack with boxoffice reset", ErrCannot, why)
}

// close mends what is still broken on purpose, and lets go of everything.
func (s *Stage) close(ctx context.Context) error {
	err := s.restore(ctx)
	if s.asked {
		err = errors.Join(err, s.remind(ctx))
	}
	if s.watch != nil {
		s.watch.close()
	}
	s.booking.Close()
	s.payments.Close()
	s.http.CloseIdleConnections()
	return err
}

// Say tells what is done or seen, and when.
func (s *Stage) Say(format string, args ...any) {
	s.saying.Lock()
	defer s.saying.Unlock()
	fmt.Fprintf(s.out, "  %6d ms  %s\n", time.Since(s.began).Milliseconds(), fmt.Sprintf(format, args...))
}

// silence is how long a person may see nothing happen.
const silence = 2 * time.Second

// waits says what is waited for, if that takes long. Stop it when it is there.
func (s *Stage) waits(format string, args ...any) (stop func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(silence, func() {
		defer close(said)
		s.Say("waiting "+format, args...)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-said
		}
	})
}

// Expect tells whether something is as it should be.
func (s *Stage) Expect(ok bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if ok {
		s.Say("as it should be: %s", text)
		return
	}
	text = "it should be that " + text
	s.Say("BROKEN: %s", text)
	s.breaks(text)
}

func (s *Stage) breaks(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, text)
}

// aWhile is how long something takes at the most that nothing tells us about,
// or how long nothing may happen that must not.
const aWhile = 1500 * time.Millisecond

// Pause lets time pass in which something must not happen.
func (s *Stage) Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Until looks again and again until it is so, or patience ends: then it is false.
func (s *Stage) Until(ctx context.Context, patience time.Duration, look func(context.Context) (bool, error)) (bool, error) {
	for end := time.Now().Add(patience); ; {
		ok, err := look(ctx)
		if ok || err != nil || time.Now().After(end) {
			return ok, err
		}
		if err := s.Pause(ctx, 50*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// FreeSeat is a seat that nobody holds, and that is given out once.
func (s *Stage) FreeSeat() (int, error) {
	for seat := 1; seat <= s.total; seat++ {
		if !s.taken[seat] {
			s.taken[seat] = true
			return seat, nil
		}
	}
	return 0, fmt.Errorf("%w: the hall is sold out; boxoffice reset, or --reset, empties it, and SEATS_TOTAL makes it larger", ErrCannot)
}
