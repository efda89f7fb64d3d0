package incident_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/incident"
)

var away = incident.Condition{Begins: "the database is away", Ends: "the database is back"}

func newLog() (*incident.Log, func() []string) {
	out := &lockedBuffer{}
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return incident.New(slog.New(handler)), func() []string {
		return strings.Split(strings.TrimSpace(out.take()), "\n")
	}
}

// lockedBuffer is a buffer that goroutines share.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

func TestOneLineWhenItBeginsAndOneWhenItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		for range 300 { // 30 s of ten a second
			log.Report(t.Context(), away, errors.New("connect:\n\t127.0.0.1: refused\n\t::1: refused"), "route", "/bookings")
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if got, want := fmt.Sprint(lines()), `[level=WARN msg="the database is away" route=/bookings error="connect: 127.0.0.1: refused ::1: refused"]`; got != want {
			t.Errorf("while it lasts: %s\nwant %s", got, want)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want := `[level=INFO msg="the database is back" times=300 lasted=29.9s last_error="connect: 127.0.0.1: refused ::1: refused"]`
		if got := fmt.Sprint(lines()); got != want {
			t.Errorf("when it is over: %s\nwant %s", got, want)
		}
		log.Report(t.Context(), away, nil)
		if got := fmt.Sprint(lines()); got != `[level=WARN msg="the database is away"]` {
			t.Errorf("the next time: %s", got)
		}
		log.Close()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(lines()); got != "[]" {
			t.Errorf("after the end: %s", got)
		}
	})
}

// Few ask: that nobody was refused for some seconds does not mean that all is well.
func TestAConditionThatIsMetSeldomLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		defer log.Close()
		for range 600 { // an hour of one each six seconds
			log.Report(t.Context(), away, nil)
			time.Sleep(6 * time.Second)
		}
		synctest.Wait()
		if got := lines(); len(got) != 1 {
			t.Errorf("%d lines", len(got))
		}
	})
}

func TestConditionsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		full := incident.Condition{Key: "full", Begins: "the door is full", Ends: "the door has room again"}
		log.Report(t.Context(), away, nil)
		log.Report(t.Context(), full, nil)
		log.Report(t.Context(), away, nil)
		if got := lines(); len(got) != 2 {
			t.Errorf("%v", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := lines(); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}
