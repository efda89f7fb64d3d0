package participanttest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"          //nolint:depguard // it is for tests
	"testing/synctest" //nolint:depguard // it is for tests
	"time"

	"boxoffice/messaging"
)

// Listener is a broker that notes what it is asked for and delivers nothing.
// It declares the third time that it is asked to.
type Listener struct {
	Deaf
	mu     sync.Mutex
	asked  []string
	failed int // how often Declare has failed
}

func (l *Listener) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what)
}

// seen is what it was asked for so far, sorted.
func (l *Listener) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.asked))
}

// Declare fails at first.
func (l *Listener) Declare(context.Context, messaging.Topology, messaging.TopologyMode) error {
	l.note("declare")
	if l.failed++; l.failed < 3 {
		return messaging.ErrTopology
	}
	return nil
}

// Consume waits for its end.
func (l *Listener) Consume(_ context.Context, s messaging.Subscription) error {
	l.note(s.Queue)
	<-s.Stop
	return nil
}

// Service is what is tested.
type Service interface {
	Run(ctx context.Context) error
	Handler() http.Handler
}

// TestRun proves that Run comes up when the database and the broker do, in that
// order, consumes these queues, and stops when it is told to, also while it
// waits. It needs a test of its own: it runs in virtual time.
func TestRun(t *testing.T, build func(t *testing.T, url string, broker messaging.Broker) Service, queues ...string) {
	t.Helper()
	t.Run("comes up and stops", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "service.db")
			if err := os.Mkdir(file, 0o700); err != nil { // no database can be opened here
				t.Fatal(err)
			}
			broker := &Listener{}
			s := build(t, "sqlite:"+file, broker)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()

			<-time.After(time.Hour)
			if code, _ := Get(t, s.Handler(), "/ready"); code != http.StatusServiceUnavailable || len(broker.seen()) != 0 {
				t.Errorf("without a database: ready %d, asked the broker for %v", code, broker.seen())
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
			want := append([]string{"declare", "declare", "declare"}, queues...)
			if code, body := Get(t, s.Handler(), "/ready"); code != http.StatusOK || !slices.Equal(broker.seen(), want) {
				t.Errorf("ready %d %s, asked the broker for %v, want %v", code, body, broker.seen(), want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	})
	t.Run("stops while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := build(t, "sqlite:"+t.TempDir(), &Listener{}) // a folder: never a database
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	})
}
