package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
)

// services answer as the three of them would, and note what is posted.
type services struct {
	*httptest.Server

	mu     sync.Mutex
	posted []string
	broker string
	fails  string // a path
}

func newServices(t *testing.T) *services {
	s := &services{broker: brokerOK}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == s.fails:
		w.WriteHeader(http.StatusInternalServerError)
	case r.Method == http.MethodPost:
		_, _ = io.Copy(io.Discard, r.Body)
		s.posted = append(s.posted, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"accepting": true, "broker": s.broker})
	}
}

func (s *services) brokerSays(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broker = state
}

func (s *services) stage(t *testing.T, out io.Writer) *Stage {
	t.Helper()
	stage, err := newStage(Stack{Targets: verify.Targets{Booking: s.URL, Seats: s.URL, Payments: s.URL}, Patience: time.Second}, out)
	if err != nil {
		t.Fatal(err)
	}
	return stage
}

// Nobody looks at a screen on which nothing happens.
func TestLongWaitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		s := &Stage{out: &text, began: time.Now()}
		stop := s.waits("for %s", "a moment")
		time.Sleep(silence - time.Millisecond)
		stop()
		stop = s.waits("for %s", "long")
		time.Sleep(silence + time.Millisecond)
		stop()
		if got := text.String(); got != "    3999 ms  waiting for long\n" {
			t.Errorf("it says %q", got)
		}
	})
}

// What was broken on purpose is mended, the last first, also after Ctrl-C; what
// the scene mended by itself is left alone.
func TestWhatIsBrokenIsMended(t *testing.T) {
	s := newServices(t)
	var text bytes.Buffer
	stage := s.stage(t, &text)
	ctx, interrupt := context.WithCancel(t.Context())
	err := errors.Join(
		stage.Bank(ctx, "before"), stage.BankAnswers(ctx),
		stage.Gate(ctx, true), stage.Drain(ctx, true))
	interrupt()
	if err := errors.Join(err, stage.close(ctx)); err != nil {
		t.Fatal(err)
	}
	want := []string{"/lab/bank", "/lab/bank", "/lab/gate/close", "/lab/drain", "/lab/resume", "/lab/gate/open"}
	if !slices.Equal(s.posted, want) {
		t.Errorf("posted %q, want %q", s.posted, want)
	}
	for _, line := range []string{"clean up: the door opens again", "clean up: the bank's gate opens"} {
		if strings.Count(text.String(), line) != 1 {
			t.Errorf("no %q in\n%s", line, &text)
		}
	}
}

// What cannot be mended is named, and the rest is mended all the same.
func TestMendFails(t *testing.T) {
	s := newServices(t)
	stage := s.stage(t, io.Discard)
	if err := errors.Join(stage.Gate(t.Context(), true), stage.Drain(t.Context(), true)); err != nil {
		t.Fatal(err)
	}
	s.fails = "/lab/resume"
	broken, ok := errors.AsType[*MendError](stage.close(t.Context()))
	if !ok || !strings.Contains(broken.Error(), "clean up, so that the door opens again: ") {
		t.Errorf("%v", broken)
	}
	if !slices.Contains(s.posted, "/lab/gate/open") {
		t.Errorf("posted %q", s.posted)
	}
}

// heard calls back for each line that a stage says.
type heard func(line string)

func (h heard) Write(p []byte) (int, error) {
	h(string(p))
	return len(p), nil
}

func TestPersonStopsTheBroker(t *testing.T) {
	s := newServices(t)
	var said []string
	stage := s.stage(t, heard(func(line string) {
		said = append(said, line)
		switch {
		case strings.Contains(line, "Leave it off until you are told"):
			s.brokerSays("the broker is unreachable")
		case strings.Contains(line, "Start it again now"):
			s.brokerSays(brokerOK)
		}
	}))
	asked := 0
	stage.Progress = func(look func() string) func() {
		want := []string{"waiting for you to stop the broker: 120 s left", "waiting for you to start the broker again: 40 s left"}[asked]
		asked++
		if line := look(); line != want {
			t.Errorf("it shows %q", line)
		}
		return func() {}
	}
	if err := errors.Join(stage.StopBroker(t.Context()), stage.StartBroker(t.Context()), stage.close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said, ""); asked != 2 || strings.Contains(text, "clean up") || !strings.Contains(text, "the broker is back") {
		t.Errorf("asked %d times\n%s", asked, text)
	}
}

// Who stopped the broker is told that it is still stopped.
func TestPersonIsReminded(t *testing.T) {
	s := newServices(t)
	s.brokerSays("the broker is unreachable")
	var text bytes.Buffer
	stage := s.stage(t, &text)
	if err := stage.StopBroker(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*MendError](stage.close(t.Context())); !ok {
		t.Error("it says that all is mended")
	}
	if !strings.Contains(text.String(), "the broker is still stopped: docker compose start rabbitmq") {
		t.Error(text.String())
	}
}

func TestBeginsWithABroker(t *testing.T) {
	s := newServices(t)
	s.brokerSays("the broker is unreachable")
	if err := s.stage(t, io.Discard).begin(t.Context()); !errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "no broker before it begins: the broker is unreachable") {
		t.Errorf("%v", err)
	}
}

// Where the services' events are not seen nothing is published.
func TestSameBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Stage{Stack: Stack{At: "amqp://there/"}, watch: &watch{changed: make(chan struct{})}}
		if err := s.sameBroker(t.Context(), "b1"); !errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "no event of booking b1 was seen on amqp://there/") {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.sameBroker(ctx, "b1"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		go func() {
			s.watch.see("BookingCreated", messaging.Message{CorrelationID: "b2"})
			s.watch.see("BookingCreated", messaging.Message{CorrelationID: "b1"})
		}()
		if err := s.sameBroker(t.Context(), "b1"); err != nil || !s.same {
			t.Errorf("%v", err)
		}
		if timeline := s.timeline(client.Booking{ID: "b3"}); timeline != "none was seen" {
			t.Error(timeline)
		}
	})
}
