package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// shared holds the servers that all tests of this process use together. It is
// a global because a TestMain and the tests it runs share nothing else.
//
//nolint:gochecknoglobals // see above
var shared struct {
	rabbit   once[*Rabbit]
	postgres once[*Postgres]
}

// Main runs a package's tests, ends the shared servers and fails if a goroutine
// was left behind. It is the body of a TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }
func Main(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	err := errors.Join(shared.rabbit.close(), shared.postgres.close())
	if code == 0 && err == nil {
		err = goleak.Find(options...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return 1
	}
	return code
}

// SharedRabbitMQ is one server for all tests of this process, started by the
// first that asks. The package's TestMain must call [Main], which ends it. A
// test that kills or stops it must not run beside others that use it.
func SharedRabbitMQ(tb testing.TB) *Rabbit {
	tb.Helper()
	r, err := shared.rabbit.get(func() (*Rabbit, error) { return StartRabbitMQ(context.Background(), "") })
	if err != nil {
		unavailable(tb, err)
	}
	return r
}

// SharedPostgres is to PostgreSQL what [SharedRabbitMQ] is to RabbitMQ.
func SharedPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	p, err := shared.postgres.get(func() (*Postgres, error) { return StartPostgres(context.Background(), "") })
	if err != nil {
		unavailable(tb, err)
	}
	return p
}

// once is a server that is started on first use, or the error that this met.
type once[S interface{ Close() error }] struct {
	mu      sync.Mutex
	started bool
	server  S
	err     error
}

func (o *once[S]) get(start func() (S, error)) (S, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		o.started = true
		o.server, o.err = start()
	}
	return o.server, o.err
}

func (o *once[S]) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started || o.err != nil {
		return nil
	}
	return o.server.Close()
}
