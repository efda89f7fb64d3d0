package participanttest

import (
	"bytes"
	"strings"
	"sync"
	"testing" //nolint:depguard // it is for tests
	"time"
)

// Log collects log lines from concurrent handlers.
type Log struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next line
}

func newLog() *Log { return &Log{changed: make(chan struct{})} }

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.buf.Write(p)
}

func (l *Log) String() string {
	all, _ := l.read()
	return all
}

func (l *Log) read() (all string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String(), l.changed
}

// Expect waits until n lines with text are there.
func (l *Log) Expect(t *testing.T, text string, n int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		all, changed := l.read()
		if strings.Count(all, text) >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%q is not logged %d times:\n%s", text, n, all)
		}
	}
}
