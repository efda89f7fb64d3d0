package seats

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
)

// listener is a broker that notes what it is asked for and delivers nothing.
type listener struct {
	deaf
	mu     sync.Mutex
	asked  []string
	failed int // how often Declare has failed; it succeeds the third time
}

func (l *listener) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what)
}

// seen is what it was asked for so far, sorted.
func (l *listener) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.asked))
}

func (l *listener) Declare(context.Context, messaging.Topology, messaging.TopologyMode) error {
	l.note("declare")
	if l.failed++; l.failed < 3 {
		return messaging.ErrTopology
	}
	return nil
}

func (l *listener) Consume(_ context.Context, s messaging.Subscription) error {
	l.note(s.Queue)
	<-s.Stop
	return nil
}

// Run comes up when the database and the broker do, in that order, and stops
// when it is told to.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "seats.db")
		if err := os.Mkdir(file, 0o700); err != nil { // no database can be opened here
			t.Fatal(err)
		}
		broker := &listener{}
		s := newService(t, "sqlite:"+file, broker, false)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()

		time.Sleep(time.Hour)
		if code, _ := s.get(t, "/ready"); code != 503 || len(broker.seen()) != 0 {
			t.Errorf("without a database: ready %d, asked the broker for %v", code, broker.seen())
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		want := []string{"declare", "declare", "declare", "seats.BookingCreated", "seats.PaymentFailed"}
		if code, body := s.get(t, "/ready"); code != 200 || !slices.Equal(broker.seen(), want) {
			t.Errorf("ready %d %s, asked the broker for %v, want %v", code, body, broker.seen(), want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestRunStopsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, "sqlite:"+t.TempDir(), &listener{}, false) // a folder: never a database
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
