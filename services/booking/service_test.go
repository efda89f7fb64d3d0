package booking

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/services/booking/internal/row"
	"boxoffice/tickets"
)

// rig is one booking service on an embedded broker, and the rest of the saga
// played by the test.
type rig struct {
	*Service
	t      *testing.T
	server *inproc.Server
	db     *database.DB
	url    string // of the database
	others *messaging.Publisher
}

func testConfig() Config {
	return Config{
		Settings: participant.Settings{
			Instance: "test", RetryDelays: []time.Duration{time.Second}, Topology: messaging.TopologyDeclare,
			Lab: true, AllowedHosts: []string{"example.com"}, // httptest's
		},
		Limits:       Limits{Active: 4, Waiting: 8, Overdue: 4},
		SagaDeadline: time.Minute,
		RedriveLimit: 3,
		StallAfter:   10 * time.Second,
	}
}

// newRig makes a service without running it. In a synctest bubble everything
// it does happens in virtual time.
func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	server := inproc.New(inproc.Options{})
	return restart(t, cfg, &rig{t: t, server: server, url: "sqlite:" + t.TempDir() + "/booking.db"})
}

// restart makes another service on the broker and the database of r.
func restart(t *testing.T, cfg Config, r *rig) *rig {
	t.Helper()
	db, err := database.Open(r.url)
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(t.Context(), telemetry.Options{
		Service: tickets.Booking, LogOutput: t.Output(), Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, others := r.server.Connect("booking"), r.server.Connect("others")
	t.Cleanup(func() {
		ctx := context.Background()
		_, _, _, _ = others.Close(ctx), conn.Close(ctx), tel.Shutdown(ctx), db.Close()
	})
	return &rig{
		Service: New(cfg, participant.Deps{DB: db, Broker: conn, Telemetry: tel}),
		t:       t, server: r.server, db: db, url: r.url,
		others: participanttest.Anybody(t, others),
	}
}

// run starts the service and waits until it takes bookings; stop ends it.
func (r *rig) run() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	synctest.Wait()
	if !r.door.Stats().Accepting {
		r.t.Fatal("the service does not take bookings")
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) do(method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w
}

func (r *rig) book(seat string) bookingJSON {
	r.t.Helper()
	w := r.do(http.MethodPost, "/bookings", `{"seat":`+seat+`,"customer":"olena","amount":450.5}`)
	if w.Code != http.StatusAccepted {
		r.t.Fatalf("POST /bookings: %d %s", w.Code, w.Body)
	}
	b := decode[bookingJSON](r.t, w)
	if w.Header().Get("Location") != "/bookings/"+b.ID.String() {
		r.t.Errorf("Location %q", w.Header().Get("Location"))
	}
	return b
}

func (r *rig) get(id uuid.UUID) bookingJSON {
	r.t.Helper()
	return decode[bookingJSON](r.t, r.do(http.MethodGet, "/bookings/"+id.String(), ""))
}

func (r *rig) publish(e messaging.Event) {
	r.t.Helper()
	if err := r.others.Publish(r.t.Context(), e); err != nil {
		r.t.Fatal(err)
	}
}

// created is how many BookingCreated wait for the seats service.
func (r *rig) created() int {
	ready, _ := r.server.Depth("seats.BookingCreated")
	return ready
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return v
}

// newOrder is a booking that has no place in any door.
func newOrder(seat int) row.Order {
	now := time.Now()
	return row.Order{
		Booking: row.Booking{
			ID: uuid.Must(uuid.NewV7()), Seat: seat, Customer: "olena", Amount: tickets.MustAmount("450"),
			Status: Pending, CreatedAt: now, UpdatedAt: now,
		},
		Carrier: row.Carrier{},
	}
}

func TestBookingTakesItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		confirmed, rejected, cancelled := r.book("5"), r.book("6"), r.book("7")
		if confirmed.Status != Pending || len(confirmed.TraceID) != 32 {
			t.Errorf("%+v", confirmed)
		}
		synctest.Wait()
		if n := r.created(); n != 3 {
			t.Fatalf("%d BookingCreated", n)
		}
		r.publish(tickets.PaymentSucceeded{BookingID: confirmed.ID})
		r.publish(tickets.SeatRejected{BookingID: rejected.ID, Seat: 6, Reason: "taken"})
		r.publish(tickets.PaymentFailed{BookingID: cancelled.ID, Seat: 7, Reason: "insufficient funds"})
		synctest.Wait()
		if b := r.get(confirmed.ID); b.Status != Confirmed || b.SeatReleased != nil {
			t.Errorf("%+v", b)
		}
		if b := r.get(rejected.ID); b.Status != Rejected || b.Reason != "taken" {
			t.Errorf("%+v", b)
		}
		if b := r.get(cancelled.ID); b.Status != Cancelled || b.Reason != "insufficient funds" || *b.SeatReleased {
			t.Errorf("%+v", b)
		}
		r.publish(tickets.SeatReleased{BookingID: cancelled.ID, Seat: 7, Reason: "insufficient funds"})
		r.publish(tickets.PaymentSucceeded{BookingID: cancelled.ID}) // contradicts
		synctest.Wait()
		if b := r.get(cancelled.ID); b.Status != Cancelled || !*b.SeatReleased {
			t.Errorf("%+v", b)
		}
		stats := decode[Stats](t, r.do(http.MethodGet, "/stats", ""))
		if stats.Active != 0 || stats.Accepted != 3 || stats.Confirmed != 1 || stats.Rejected != 1 || stats.Cancelled != 1 ||
			stats.Conflicts != 1 || stats.Broker != "ok" || stats.Instance != "test" {
			t.Errorf("%+v", stats)
		}
	})
}

func TestAnOutcomeOfAnUnknownBookingIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		r.publish(tickets.PaymentSucceeded{BookingID: uuid.New()})
		r.publish(tickets.SeatReleased{BookingID: uuid.New(), Seat: 1, Reason: "x"})
		synctest.Wait()
		for _, queue := range []string{"booking.PaymentSucceeded", "booking.SeatReleased"} {
			if ready, _ := r.server.Depth(queue + ".dead"); ready != 1 {
				t.Errorf("%s: %d parked", queue, ready)
			}
		}
	})
}

// The row is the outbox: what was accepted while the broker was out is
// published when it is back, and after a restart too.
func TestAcceptedBookingsAreStartedWhenTheBrokerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		stop := r.run()
		r.server.Stop()
		for range 6 { // four active, two waiting
			r.book("5")
		}
		time.Sleep(time.Minute / 2)
		if n := r.created(); n != 0 {
			t.Fatalf("%d published without a broker", n)
		}
		stop()
		r.server.Start()
		r = restart(t, testConfig(), r)
		r.run()
		synctest.Wait()
		if n := r.created(); n != 4 {
			t.Errorf("%d published after the restart, not the four that may be active", n)
		}
		if s := r.door.Stats(); s.Active != 4 || s.Waiting != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A saga that hears nothing is redriven at growing intervals, so often and no
// more, and still ends when its outcome comes.
func TestOverdueBookingsAreRedriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		b := r.book("5")
		var at []time.Duration // when each BookingCreated was there
		seen, start := 0, time.Now()
		for range 25 {
			synctest.Wait()
			if n := r.created(); n > seen {
				seen = n
				at = append(at, time.Since(start).Round(time.Minute))
			}
			time.Sleep(time.Minute + time.Second/100)
		}
		if want := []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("published after %v, want %v", at, want)
		}
		if s := decode[Stats](t, r.do(http.MethodGet, "/stats", "")); s.Redriven != 3 || s.Stalled != 1 || s.Overdue != 1 || s.Active != 0 {
			t.Errorf("%+v", s)
		}
		r.publish(tickets.SeatReleased{BookingID: b.ID, Seat: 5, Reason: "late"})
		time.Sleep(2 * time.Second) // until the next look
		synctest.Wait()
		if s := decode[Stats](t, r.do(http.MethodGet, "/stats", "")); s.Stalled != 0 || s.Overdue != 0 {
			t.Errorf("after the outcome: %+v", s)
		}
	})
}

// A Cancelled booking whose seat was never released is unfinished too.
func TestAnUnreleasedSeatIsRedriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		stop := r.run()
		b := r.book("5")
		r.publish(tickets.PaymentFailed{BookingID: b.ID, Seat: 5, Reason: "insufficient funds"})
		time.Sleep(70 * time.Second)
		synctest.Wait()
		if n := r.created(); n != 2 {
			t.Errorf("%d BookingCreated after the deadline, want the first and one redrive", n)
		}
		stop()
		restart(t, testConfig(), r).run()
		synctest.Wait()
		if n := r.created(); n != 3 {
			t.Errorf("%d BookingCreated after the restart", n)
		}
	})
}

// Outcomes that another replica commits free the slots here.
func TestOutcomesOfAnotherReplicaFreeTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		b := r.book("5")
		synctest.Wait()
		other := restart(t, testConfig(), r)
		if _, err := other.store.Settle(t.Context(), row.Outcome{ID: b.ID, Status: Confirmed}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := r.door.Stats(); s.Active != 0 {
			t.Errorf("%+v", s)
		}
	})
}
