package payments

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/internal/testserver"
	"boxoffice/messaging"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

// onBoth runs a test on an empty database of each kind: one contract, one suite.
func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "payments.db")) })
	t.Run("postgresql", func(t *testing.T) { test(t, testserver.SharedPostgres(t).Database(t, "payments")) })
}

// deaf is a broker for services whose handlers are called directly.
type deaf struct{ messaging.Broker }

func (deaf) System() string { return "none" }
func (deaf) Ready() error   { return nil }

// logBuffer collects log lines from concurrent handlers.
type logBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next line
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
	return b.buf.Write(p)
}

// expect waits until n lines with text are there.
func (b *logBuffer) expect(t *testing.T, text string, n int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		b.mu.Lock()
		all, changed := b.buf.String(), b.changed
		b.mu.Unlock()
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

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// replica is one payments service on a database, with its log.
type replica struct {
	*Service
	logs *logBuffer
}

// newService is a service on a database that is not prepared.
func newService(t *testing.T, url string, broker messaging.Broker, cfg Config) replica {
	t.Helper()
	db, err := database.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	logs := &logBuffer{changed: make(chan struct{})}
	tel, err := telemetry.New(t.Context(), telemetry.Options{
		Service: messaging.Payments, LogOutput: logs, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	s := New(cfg, participant.Deps{DB: db, Broker: broker, Telemetry: tel})
	t.Cleanup(s.close)
	return replica{s, logs}
}

// newReplica is a service whose handlers can be called.
func newReplica(t *testing.T, url string, bank Bank) replica {
	t.Helper()
	return prepared(t, newService(t, url, deaf{}, Config{Bank: bank}))
}

// newLabReplica is one with the lab, which it looks at only when it is told to.
func newLabReplica(t *testing.T, url string, bank Bank) replica {
	t.Helper()
	r := prepared(t, newService(t, url, deaf{}, Config{Settings: participant.Settings{Lab: true}, Bank: bank}))
	r.look(t)
	return r
}

func prepared(t *testing.T, r replica) replica {
	t.Helper()
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.store.db.Migrate(t.Context(), migrations); err != nil {
		t.Fatal(err)
	}
	return r
}

// plain is a bank without delay.
func plain() Bank { return Bank{Limit: messaging.MustAmount("1000")} }

var (
	affordable = messaging.MustAmount("450.5")
	tooMuch    = messaging.MustAmount("1000.01")
)

func seatReserved(id uuid.UUID, amount messaging.Amount) messaging.SeatReserved {
	return messaging.SeatReserved{BookingID: id, Seat: 5, Amount: amount}
}

func succeeded(id uuid.UUID) messaging.Event { return messaging.PaymentSucceeded{BookingID: id} }

func failed(id uuid.UUID) messaging.Event {
	return messaging.PaymentFailed{BookingID: id, Seat: 5, Reason: "insufficient funds"}
}

// expect hands e over as a delivery would and compares the one event that came of it.
func (r replica) expect(t *testing.T, e messaging.SeatReserved, want messaging.Event) {
	t.Helper()
	events, err := r.seatReserved(t.Context(), e)
	if err != nil || len(events) != 1 || events[0] != want {
		t.Errorf("%+v: got %+v, %v, want %T %+v", e, events, err, want, want)
	}
}

// expectRow compares the booking's payment and how often the bank charged for it.
func (r replica) expectRow(t *testing.T, id uuid.UUID, status Status, charges int) {
	t.Helper()
	v, err := r.store.get(t.Context(), id)
	if err != nil || v.Status != status || v.charges != charges {
		t.Errorf("got %+v, %v, want %s and %d charges", v, err, status, charges)
	}
}

// entry is the bank's ledger for a booking; nil if it was never asked.
func (r replica) entry(t *testing.T, id uuid.UUID) *Entry {
	t.Helper()
	e, err := r.bank.ledger.find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
