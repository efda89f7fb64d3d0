package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/testserver"
	"boxoffice/internal/verify"
	"boxoffice/services/booking"
	"boxoffice/tickets"
)

// door is a running booking service with small budgets, and the bank whose
// gate holds what is behind it.
type door struct {
	t       *testing.T
	http    *http.Client
	targets verify.Targets
}

// post books one seat and returns the status, the problem's type or "", and the id.
func (d *door) post(seat int, headers ...string) (status int, kind string, id uuid.UUID) {
	d.t.Helper()
	body := fmt.Sprintf(`{"seat":%d,"customer":"olena","amount":450}`, seat)
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.targets.Booking+"/bookings", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		ID   uuid.UUID
		Type string
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		d.t.Fatal(err)
	}
	if refused := res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable; refused {
		if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
			d.t.Errorf("%d with Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
		}
	}
	return res.StatusCode, answer.Type, answer.ID
}

func (d *door) refused(status int, kind string) {
	d.t.Helper()
	if got, gotKind, _ := d.post(99); got != status || gotKind != kind {
		d.t.Errorf("got %d %s, want %d %s", got, gotKind, status, kind)
	}
}

// lab posts to one of the lab's switches.
func (d *door) lab(url string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, url, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		d.t.Fatalf("%s: %s", url, res.Status)
	}
}

// holds waits until the door says so.
func (d *door) holds(active, waiting int) {
	d.t.Helper()
	eventually(d.t, "look at the door", func(ctx context.Context) error {
		var s booking.Stats
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.targets.Booking+"/stats", http.NoBody)
		if err != nil {
			return err
		}
		res, err := d.http.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
			return err
		}
		if s.Active != active || s.Waiting != waiting || s.MaxActive > 2 {
			return fmt.Errorf("active %d, waiting %d, most active %d", s.Active, s.Waiting, s.MaxActive)
		}
		return nil
	})
}

// fill closes the gate and books until both budgets are used up.
func (d *door) fill() (ids []uuid.UUID) {
	d.t.Helper()
	d.lab(d.targets.Payments + "/lab/gate/close")
	for i := range 5 {
		status, _, id := d.post(i + 1)
		if status != http.StatusAccepted {
			d.t.Fatalf("booking %d: %d", i+1, status)
		}
		ids = append(ids, id)
		d.holds(min(i+1, 2), max(0, i-1))
	}
	return ids
}

var smallDoor = []string{"ADMISSION_ACTIVE=2", "ADMISSION_WAITING=3", "LAB=on", "SEATS_TOTAL=100"}

// The lesson: exactly five bookings are taken, the others are told why not and
// leave nothing, and opening the gate finishes all five.
func (d *door) lesson() {
	d.t.Helper()
	ids := d.fill()
	d.refused(http.StatusTooManyRequests, booking.TypeBusy)
	d.refused(http.StatusTooManyRequests, booking.TypeBusy)
	d.lab(d.targets.Booking + "/lab/drain")
	d.refused(http.StatusServiceUnavailable, booking.TypeDraining)
	d.lab(d.targets.Booking + "/lab/resume")
	d.refused(http.StatusTooManyRequests, booking.TypeBusy)
	d.lab(d.targets.Payments + "/lab/gate/open")
	all := settled(d.t, d.http, d.targets, ids...)
	if len(all) != 5 {
		d.t.Errorf("%d bookings, not five", len(all))
	}
	for _, b := range all {
		if b.Status != "Confirmed" {
			d.t.Errorf("booking %s is %s", b.ID, b.Status)
		}
	}
	d.holds(0, 0)
}

func TestTheLessonEmbedded(t *testing.T) {
	t.Parallel()
	u := newUp(t, smallDoor...)
	u.start()
	(&door{t, u.http, u.targets}).lesson()
}

func TestTheLesson(t *testing.T) {
	t.Parallel()
	s := newStack(t, smallDoor...)
	(&door{t, s.http, s.targets}).lesson()
	s.endWell()
}

// With one budget changed at a time the numbers change with it, and nothing else.
func TestTheLessonWithOtherBudgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ active, waiting int }{{1, 3}, {2, 0}, {2, 1}} {
		t.Run(fmt.Sprintf("%d active, %d waiting", c.active, c.waiting), func(t *testing.T) {
			t.Parallel()
			u := newUp(t, fmt.Sprintf("ADMISSION_ACTIVE=%d", c.active), fmt.Sprintf("ADMISSION_WAITING=%d", c.waiting), "SEATS_TOTAL=100")
			u.start()
			d := &door{t, u.http, u.targets}
			d.lab(d.targets.Payments + "/lab/gate/close")
			var ids []uuid.UUID
			for i := range c.active + c.waiting {
				status, _, id := d.post(i + 1)
				if status != http.StatusAccepted {
					t.Fatalf("booking %d: %d", i+1, status)
				}
				ids = append(ids, id)
			}
			d.holds(c.active, c.waiting)
			d.refused(http.StatusTooManyRequests, booking.TypeBusy)
			d.lab(d.targets.Payments + "/lab/gate/open")
			if n := len(settled(t, u.http, u.targets, ids...)); n != c.active+c.waiting {
				t.Errorf("%d bookings", n)
			}
		})
	}
}

// The lesson without its broker: full is 503 now, and all five finish when it
// is back.
func TestTheLessonWithoutABroker(t *testing.T) {
	rabbit := testserver.SharedRabbitMQ(t)
	s := newStack(t, smallDoor...)
	d := &door{t, s.http, s.targets}
	ids := d.fill()
	d.refused(http.StatusTooManyRequests, booking.TypeBusy)
	outage(t, rabbit.Kill, rabbit.Start, func() {
		eventually(t, "wait for the door to notice", func(context.Context) error {
			if status, kind, _ := d.post(99); status != http.StatusServiceUnavailable || kind != booking.TypeStopped { //nolint:contextcheck // it takes the test's own
				return fmt.Errorf("it answers %d %s", status, kind)
			}
			return nil
		})
	})
	d.lab(d.targets.Payments + "/lab/gate/open")
	if n := len(s.settled(ids...)); n != 5 {
		t.Errorf("%d bookings, not five", n)
	}
	s.endWell()
}

// A kill with bookings active and waiting loses none, doubles none, and both
// budgets are there again.
func TestKilledDoor(t *testing.T) {
	t.Parallel()
	s := newStack(t, smallDoor...)
	d := &door{t, s.http, s.targets}
	ids := d.fill()
	s.programs[tickets.Booking].kill()
	s.restart(tickets.Booking)
	s.ready()
	d.holds(2, 3)
	d.refused(http.StatusTooManyRequests, booking.TypeBusy)
	d.lab(d.targets.Payments + "/lab/gate/open")
	if all := s.settled(ids...); len(all) != 5 {
		t.Errorf("%d bookings, not five", len(all))
	}
	d.holds(0, 0)
	s.endWell()
}

// A second replica has budgets of its own, and takes over what waits at one
// that is killed for good.
func TestAReplicaThatIsGone(t *testing.T) {
	t.Parallel()
	s := newStack(t, append([]string{"SAGA_DEADLINE=5s", "RETRY_DELAYS=100ms", "REDRIVE_LIMIT=20"}, smallDoor...)...)
	d := &door{t, s.http, s.targets}
	ids := d.fill()
	second := fmt.Sprintf("127.0.0.1:%d", testserver.FreePort(t))
	launch(t, append(slices.Clip(s.env[tickets.Booking]),
		"BOOKING_ADDR="+second, "INSTANCE=second"), tickets.Booking)
	s.programs[tickets.Booking].kill() // for good
	other := *s
	other.targets.Booking = "http://" + second
	other.client = newClient(t, other.targets.Booking)
	other.ready()
	d.lab(d.targets.Payments + "/lab/gate/open")
	if all := other.settled(ids...); len(all) != 5 {
		t.Errorf("%d bookings, not five", len(all))
	}
}

// A thousand connections that say nothing keep nobody out, and are ended.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	u := newUp(t, "SEATS_TOTAL=100")
	u.start()
	host := strings.TrimPrefix(u.targets.Booking, "http://")
	var silent []net.Conn
	for range 1000 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
		if _, err := c.Write([]byte("POST /bookings HTTP/1.1\r\nHost: x\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	d := &door{t, u.http, u.targets}
	if status, _, _ := d.post(1, "Prefer: wait=30"); status != http.StatusAccepted {
		t.Errorf("beside them: %d", status)
	}
	for _, c := range silent {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("a silent connection is still open: %v", err)
		}
		_ = c.Close()
	}
}
