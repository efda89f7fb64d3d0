package payments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/participant"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
)

// conditions are those that the replica obeys.
func (r replica) conditions() string {
	now, opened := r.bank.lab.get()
	gate, when, delay := "open", now.when, "configured"
	if opened != nil {
		gate = "closed"
	}
	if when == "" { // nobody has changed anything yet
		when = BeforeCharge
	}
	if now.delay != nil {
		delay = now.delay.String()
	}
	return fmt.Sprint(gate, " ", now.failure, " ", when, " ", delay)
}

// aFewLooks is long enough for every replica to have seen a change. In virtual
// time the database's waits may cost a little.
const aFewLooks = 3 * labLook

// The replica that is asked obeys at once, the other within a fraction of a second.
func TestEveryReplicaObeysSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := "sqlite:" + filepath.Join(t.TempDir(), "payments.db")
		a, b := newLabReplica(t, url, plain()).watched(t), newLabReplica(t, url, plain()).watched(t)
		for _, gate := range []string{"close", "open", "close"} {
			a.post(t, "/lab/gate/"+gate, "")
			want := map[string]string{"open": "open 0 before configured", "close": "closed 0 before configured"}[gate]
			if got := a.conditions(); got != want {
				t.Errorf("%s: the replica that was asked: %s", gate, got)
			}
			time.Sleep(aFewLooks)
			if got := b.conditions(); got != want {
				t.Errorf("%s: the other replica: %s", gate, got)
			}
		}
	})
}

// A gate that closes while the bank is busy holds those charges too.
func TestGateClosesDuringACharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := plain()
		slow.Delay = time.Minute
		r, id := newLabReplica(t, "sqlite:", slow), newID()
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			r.post(t, "/lab/gate/close", "")
			time.Sleep(3 * time.Minute)
			if e := r.entry(t, id); e != nil {
				t.Errorf("charged behind a closed gate: %+v", e)
			}
			r.post(t, "/lab/gate/open", "")
		}()
		r.expect(t, seatReserved(id, affordable), succeeded(id))
		if took := time.Since(start); took < 3*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// Charges that a closing gate catches in the bank give up their places: those
// behind them are not held for one patience after the other, and once the gate
// opens each is charged once.
func TestAClosedGateKeepsNoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := plain()
		slow.Delay, slow.Concurrency = time.Minute, 2
		r := newLabReplica(t, "sqlite:", slow)
		start, ids := time.Now(), make([]uuid.UUID, 20)
		results := make(chan error, len(ids))
		charge := func() {
			for _, id := range ids {
				go func() {
					_, err := r.seatReserved(t.Context(), seatReserved(id, affordable))
					results <- err
				}()
			}
		}
		for i := range ids {
			ids[i] = newID()
		}
		charge()
		time.Sleep(time.Second) // two are in the bank, the others wait for a place
		r.post(t, "/lab/gate/close", "")
		time.Sleep(2 * time.Minute)
		if n := len(r.bank.slots); n != 0 {
			t.Errorf("%d places are taken behind a closed gate", n)
		}
		for range ids {
			if err := <-results; !messaging.IsUnavailable(err) || !errors.Is(err, errClosed) {
				t.Errorf("behind a gate that stays closed: %v", err)
			}
		}
		if took := time.Since(start); took > gatePatience+2*time.Minute {
			t.Errorf("the last was given back after %v", took)
		}
		r.post(t, "/lab/gate/open", "")
		charge()
		for range ids {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for _, id := range ids {
			r.expectRow(t, id, Succeeded, 1)
		}
	})
}

// A gate that stays closed gives the delivery back to the consumer from time to
// time, and holds it all the same.
func TestGateThatStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := newLabReplica(t, "sqlite:", plain()), newID()
		r.post(t, "/lab/gate/close", "")
		for range 3 {
			start := time.Now()
			_, err := r.seatReserved(t.Context(), seatReserved(id, affordable))
			if !messaging.IsUnavailable(err) || !errors.Is(err, errClosed) {
				t.Errorf("%v, want Unavailable", err)
			}
			if took := time.Since(start); took < gatePatience || took > gatePatience+time.Second {
				t.Errorf("held for %v, want %v", took, gatePatience)
			}
		}
		r.post(t, "/lab/gate/open", "")
		r.expect(t, seatReserved(id, affordable), succeeded(id))
		r.expectRow(t, id, Succeeded, 1)
	})
}

func TestLabDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := plain()
		slow.Delay = time.Hour
		r := newLabReplica(t, "sqlite:", slow)
		for _, step := range []struct {
			path, body string
			want       time.Duration
		}{
			{"/lab/bank", `{"delay":"60s"}`, time.Minute},
			{"/lab/bank", `{"delay":"0s"}`, 0},
			{"/lab/reset", "", time.Hour},
		} {
			r.post(t, step.path, step.body)
			start, id := time.Now(), newID()
			r.expect(t, seatReserved(id, affordable), succeeded(id))
			if took := time.Since(start); took < step.want || took > step.want+time.Second {
				t.Errorf("%s: a charge took %v, want %v", step.body, took, step.want)
			}
		}
	})
}

// early is a broker that looks at the bank when the first delivery could come.
type early struct {
	participanttest.Listener
	look func()
}

func (e *early) Consume(ctx context.Context, s messaging.Subscription) error {
	e.look()
	return e.Listener.Consume(ctx, s)
}

// A service that starts behind a closed gate lets nothing through, sees it open,
// and sends away whoever is held when it stops.
func TestRunObeysTheLab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := "sqlite:" + filepath.Join(t.TempDir(), "payments.db")
		other := newLabReplica(t, url, plain())
		other.post(t, "/lab/gate/close", "")

		broker := &early{}
		s := newService(t, url, broker, Config{Settings: participant.Settings{Lab: true, AllowedHosts: []string{"example.com"}}, Bank: plain()})
		atFirst := make(chan string, 1)
		broker.look = func() { atFirst <- s.conditions() }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if got := <-atFirst; got != "closed 0 before configured" {
			t.Errorf("when it began to consume: %s", got)
		}
		other.post(t, "/lab/gate/open", "")
		time.Sleep(aFewLooks)
		id := newID()
		s.expect(t, seatReserved(id, affordable), succeeded(id))

		other.post(t, "/lab/gate/close", "")
		time.Sleep(aFewLooks)
		sentAway := make(chan error, 1)
		go func() {
			_, err := s.seatReserved(t.Context(), seatReserved(newID(), affordable))
			sentAway <- err
		}()
		synctest.Wait()
		stop()
		if err := <-sentAway; !messaging.IsUnavailable(err) || !errors.Is(err, errStopping) {
			t.Errorf("held when the service stopped: %v, want Unavailable", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// While the database does not answer everything stays as it was, and that is
// said once; then the replica obeys again.
func TestLabOutOfSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := "sqlite:" + filepath.Join(t.TempDir(), "payments.db")
		other, r := newLabReplica(t, url, plain()), newLabReplica(t, url, plain()).watched(t)
		other.post(t, "/lab/gate/close", "")
		rename := func(from, to string) {
			t.Helper()
			if _, err := other.store.db.ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * labLook)
		}
		time.Sleep(aFewLooks)
		for outages := 1; outages <= 2; outages++ {
			rename("lab", "gone")
			if got := r.conditions(); got != "closed 0 before configured" {
				t.Errorf("out of sight: %s", got)
			}
			if n := strings.Count(r.logs.String(), "cannot see what the lab does"); n != outages {
				t.Errorf("%d warnings of %d outages", n, outages)
			}
			rename("gone", "lab")
		}
		other.post(t, "/lab/gate/open", "")
		time.Sleep(aFewLooks)
		if got := r.conditions(); got != "open 0 before configured" {
			t.Errorf("in sight again: %s", got)
		}
	})
}

// A look that was slow brings an old answer: it is not obeyed.
func TestSlowLookUndoesNothing(t *testing.T) {
	r := newLabReplica(t, "sqlite:", plain())
	r.post(t, "/lab/gate/close", "")
	old, _ := r.bank.lab.get()
	r.post(t, "/lab/gate/open", "")
	r.bank.lab.apply(t.Context(), old)
	if got := r.conditions(); got != "open 0 before configured" {
		t.Errorf("after an old answer: %s", got)
	}
}
