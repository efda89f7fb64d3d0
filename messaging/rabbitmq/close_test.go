package rabbitmq_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// silent is the URL of a peer that accepts connections and never says a word.
func silent(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				_, _ = c.Read(make([]byte, 1<<10)) // the greeting
				_, _ = c.Read(make([]byte, 1))     // until the client closes
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Wait()
	})
	return "amqp://user:secret@" + l.Addr().String() + "/"
}

// gone is the URL of a port where nobody listens.
func gone(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "amqp://user:secret@" + l.Addr().String() + "/"
}

func TestCallsEndWithoutABroker(t *testing.T) {
	for name, url := range map[string]string{"nobody listens": gone(t), "the peer is silent": silent(t)} {
		t.Run(name, func(t *testing.T) {
			b := open(t, url, rabbitmq.Options{})
			calls := map[string]func(context.Context) error{
				"Declare": func(ctx context.Context) error { return b.Declare(ctx, topology(), messaging.TopologyDeclare) },
				"Publish": func(ctx context.Context) error {
					return b.Publish(ctx, messagingtest.Shop().EventsExchange(), key, message("m"))
				},
				"Browse": func(ctx context.Context) error {
					return b.Browse(ctx, queue, func(context.Context, messaging.Message) (bool, error) { return true, nil })
				},
			}
			for call, do := range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v, want the deadline", call, err)
				}
				cancel()
			}
			if b.Ready() == nil {
				t.Error("it is ready")
			}
			waiting := make(chan error, 2)
			go func() { waiting <- b.Publish(t.Context(), messagingtest.Shop().EventsExchange(), key, message("m")) }()
			go func() { waiting <- b.Declare(t.Context(), topology(), messaging.TopologyDeclare) }()
			check := within(t, 5*time.Second, "Close")
			if err := b.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			check()
			for range 2 {
				if err := <-waiting; !errors.Is(err, messaging.ErrClosed) {
					t.Errorf("a waiting call: %v, want ErrClosed", err)
				}
			}
		})
	}
}

func TestCloseWithAHungPeer(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	p := newProxy(t, f.url)
	b := open(t, p.url, rabbitmq.Options{Patience: 100 * time.Millisecond})
	f.publish(b, "m")
	p.freeze()
	check := within(t, 10*time.Second, "Close with a hung peer")
	if err := b.Close(t.Context()); err != nil { // nothing was outstanding
		f.Errorf("close: %v", err)
	}
	check()
}

func TestCloseCountsWhatIsUnconfirmed(t *testing.T) {
	f := newFixture(t)
	f.declared(rabbitmq.Options{})
	p := newProxy(t, f.url)
	b := open(t, p.url, rabbitmq.Options{})
	f.publish(b, "m")
	p.freeze()
	if err := f.impatient(b, "unknown"); !errors.Is(err, context.DeadlineExceeded) {
		f.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.ctx, 100*time.Millisecond)
	defer cancel()
	for range 2 { // closing again says the same
		err := b.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 publishes are unconfirmed") {
			f.Errorf("close: %v", err)
		}
	}
}

// A handler that ignores its context cannot be ended, only left behind.
func TestCloseLeavesAStuckHandler(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{Patience: 50 * time.Millisecond})
	f.publish(b, "m")
	started, release := make(chan struct{}, 10), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(f.ctx, messaging.Subscription{Queue: queue, Handle: func(context.Context, *messaging.Delivery) {
			started <- struct{}{}
			<-release
		}})
	}()
	receive(f, started, "the delivery")
	ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	check := within(t, 10*time.Second, "Close with a stuck handler")
	if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("close: %v", err)
	}
	check()
	f.ready(f.channel(), 1) // the broker has it back all the same
	close(release)
	if err := receive(f, done, "Consume to return"); err != nil {
		f.Error(err)
	}
}

func TestPasswordsAreNeverShown(t *testing.T) {
	for _, url := range []string{
		"amqp://user:sec/ret@localhost/", "amqp://user:secret@localhost:port/", "http://user:secret@localhost/",
		"amqp://user:secret@local host/", "amqp://user:%zzsecret@localhost/", "user:secret",
	} {
		if _, err := rabbitmq.Open(url, rabbitmq.Options{}); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("open %s: %v", url, err)
		}
	}

	f := newFixture(t)
	const refused = "username or password not allowed"
	url := strings.Replace(f.url, "guest:guest", "guest:s3cret", 1)
	var log lines
	b := open(t, url, rabbitmq.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for !strings.Contains(f.until(b, false).Error(), refused) {
		if f.ctx.Err() != nil {
			f.Fatalf("Ready is still: %v", b.Ready())
		}
		f.pause()
	}
	err := f.impatient(b, "m")
	for _, text := range []string{log.String(), err.Error(), b.Ready().Error()} {
		if strings.Contains(text, "s3cret") || !strings.Contains(text, refused) {
			t.Errorf("a wrong password: %s", text)
		}
	}
}

// lines is a buffer that may be read while it is written.
type lines struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}
