package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/internal/verify"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/services/booking"
	"boxoffice/services/payments"
	"boxoffice/services/seats"
	"boxoffice/tickets"
)

const hall = 4 // seats: few, so that bookings meet; more where a test says so

// runner is what the world needs of a service.
type runner interface {
	Handler() http.Handler
	Run(ctx context.Context) error
}

// world is the three services, their broker and their disks.
type world struct {
	dir    string
	server *inproc.Server
	log    io.Writer
	door   booking.Limits
	hall   int
	procs  map[string]*process
	errs   []error // of setting up

	mu       sync.Mutex
	stopping bool // nothing comes up any more
}

// process is one service, over its incarnations.
type process struct {
	w    *world
	name string
	plan plan

	mu      sync.Mutex
	handler http.Handler // nil while it is down
	conn    *inproc.Conn
	kill    func()
	running sync.WaitGroup
}

func newWorld(dir string, log io.Writer, door booking.Limits, seats int, faults map[string][]fault) *world {
	w := &world{dir: dir, server: inproc.New(inproc.Options{}), log: log, door: door, hall: seats, procs: map[string]*process{}}
	for _, name := range []string{tickets.Booking, tickets.Seats, tickets.Payments} {
		w.procs[name] = &process{w: w, name: name, plan: plan{faults: faults[name]}}
		w.procs[name].start()
	}
	return w
}

func settings() participant.Settings {
	return participant.Settings{
		Instance: "one", RetryDelays: []time.Duration{time.Second, 5 * time.Second}, Topology: messaging.TopologyDeclare,
		Grace: 5 * time.Second, Lab: true,
	}
}

// start brings the service up on its disk.
func (p *process) start() {
	p.w.mu.Lock()
	stopping := p.w.stopping
	p.w.mu.Unlock()
	if stopping {
		return
	}
	db, err := database.Open("sqlite:" + filepath.Join(p.w.dir, p.name+".db"))
	if err != nil {
		p.w.errs = append(p.w.errs, err)
		return
	}
	tel, err := telemetry.New(context.Background(), telemetry.Options{
		Service: p.name, Shared: true, LogOutput: p.w.log, LogLevel: logLevel(), Getenv: func(string) string { return "" },
	})
	if err != nil {
		p.w.errs = append(p.w.errs, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	after := context.WithoutCancel(ctx)
	conn := p.w.server.Connect(p.name)
	broker := &faulty{Conn: conn, plan: &p.plan, crash: p.crash}
	s := p.service(participant.Deps{DB: db, Broker: broker, Telemetry: tel})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler, p.conn = s.Handler(), conn
	p.kill = func() {
		conn.Kill()
		cancel()
	}
	p.running.Go(func() {
		_ = s.Run(ctx) // killed in the middle of anything
		_ = conn.Close(after)
		_ = tel.Shutdown(after)
		_ = db.Close()
	})
}

func (p *process) service(d participant.Deps) runner {
	switch p.name {
	case tickets.Booking:
		return booking.New(booking.Config{
			Settings: settings(), Limits: p.w.door, SagaDeadline: 30 * time.Second, RedriveLimit: 8, StallAfter: 10 * time.Second,
		}, d)
	case tickets.Seats:
		return seats.New(seats.Config{Settings: settings(), Total: p.w.hall}, d)
	default:
		return payments.New(payments.Config{
			Settings: settings(),
			Bank:     payments.Bank{Limit: tickets.MustAmount("1000"), Delay: 200 * time.Millisecond, Concurrency: 4},
		}, d)
	}
}

// down kills the service, and reports whether it was up.
func (p *process) down() bool {
	p.mu.Lock()
	kill := p.kill
	p.kill, p.handler, p.conn = nil, nil, nil
	p.mu.Unlock()
	if kill == nil {
		return false
	}
	kill()
	return true
}

// crash kills the service, and brings it up again three seconds later.
func (p *process) crash() {
	if !p.down() {
		return
	}
	p.running.Go(func() {
		time.Sleep(3 * time.Second) // virtual
		p.start()
	})
}

// stop ends everything.
func (w *world) stop() {
	w.mu.Lock()
	w.stopping = true
	w.mu.Unlock()
	for _, p := range w.procs {
		p.down()
		p.running.Wait()
	}
}

func (p *process) up() http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handler
}

// RoundTrip lets an HTTP client talk to the services without sockets: the host
// is the service's name. A service that is down refuses.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	h := w.procs[r.URL.Host].up()
	if h == nil {
		return nil, fmt.Errorf("%s is down", r.URL.Host)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func targets() verify.Targets {
	return verify.Targets{Booking: "http://booking", Seats: "http://seats", Payments: "http://payments"}
}

func (w *world) client() *http.Client { return &http.Client{Transport: w} }

// post posts one booking, with a fault script or "", and returns the answer's
// status and the id in it.
func (w *world) post(seat int, amount, script string) (int, uuid.UUID) {
	body := fmt.Sprintf(`{"seat":%d,"customer":"olena","amount":%s}`, seat, amount)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://booking/bookings", strings.NewReader(body))
	if err != nil {
		return 0, uuid.Nil
	}
	req.Header.Set("Content-Type", "application/json")
	if script != "" {
		req.Header.Set("X-Lab-Fault", script)
	}
	resp, err := w.client().Do(req)
	if err != nil {
		return 0, uuid.Nil
	}
	defer func() { _ = resp.Body.Close() }()
	var b struct {
		ID uuid.UUID `json:"id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&b); err != nil {
		return 0, uuid.Nil
	}
	return resp.StatusCode, b.ID
}

// book posts one booking and returns its id if it was accepted.
func (w *world) book(seat int, amount, script string) (uuid.UUID, bool) {
	status, id := w.post(seat, amount, script)
	return id, status == http.StatusAccepted
}

// stats is what the booking service says of its door.
func (w *world) stats() (s booking.Stats) {
	resp, err := w.client().Get("http://booking/stats")
	if err != nil {
		return s
	}
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(&s) // nonsense shows as a wrong number
	return s
}

// quiet waits, in virtual time, until every booking is finished and no message
// is under way, for an hour at most, and returns what is violated then.
func (w *world) quiet(accepted []uuid.UUID) []verify.Violation {
	var found []verify.Violation
	for range 360 {
		time.Sleep(10 * time.Second)
		s, err := verify.Take(context.Background(), w.client(), targets())
		if err != nil {
			found = []verify.Violation{{Text: err.Error()}}
			continue
		}
		depths := map[string]int{}
		for _, q := range w.server.Queues() {
			if !strings.HasSuffix(q, ".dead") {
				ready, unacked := w.server.Depth(q)
				depths[q] = ready + unacked
			}
		}
		if found = append(verify.Check(s, accepted...), verify.CheckQueues(depths)...); len(found) == 0 {
			return nil
		}
	}
	return found
}

// parked is how many messages were parked: no fault here deserves it.
func (w *world) parked() (n int) {
	for _, q := range w.server.Queues() {
		if strings.HasSuffix(q, ".dead") {
			ready, unacked := w.server.Depth(q)
			n += ready + unacked
		}
	}
	return n
}

func logLevel() slog.Level {
	if os.Getenv("VIRTUAL_LOG") != "" {
		return slog.LevelInfo
	}
	return slog.LevelError + 1
}

// drop cuts the service's connection.
func (p *process) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.Drop()
	}
}

// repeat publishes a late duplicate of a booking's BookingCreated, as a broker
// that delivers twice would.
func (w *world) repeat(id uuid.UUID) {
	s, err := verify.Take(context.Background(), w.client(), targets())
	if err != nil {
		return // a service is down
	}
	conn := w.server.Connect("a late duplicate")
	defer func() { _ = conn.Close(context.Background()) }()
	p, err := messaging.NewPublisher(conn, tickets.System(nil), tickets.Booking, messaging.Instruments{})
	if err != nil {
		panic(err) // the system is a constant
	}
	for _, b := range s.Bookings {
		if b.ID == id {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = p.Publish(ctx, tickets.BookingCreated{BookingID: id, Seat: b.Seat, Customer: "olena", Amount: b.Amount})
			cancel()
		}
	}
}
