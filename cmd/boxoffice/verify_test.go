package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/client"
	"boxoffice/internal/verify"
	"boxoffice/tickets"
)

// stage is three services that say what a test has planted.
type stage struct {
	verify.Snapshot
	stats client.Stats
	urls  map[string]string
	dead  http.HandlerFunc // the parked messages, if it shows some

	charged atomic.Int64 // how often the charges were read
}

// stand serves the stage, two rows a page.
func (s *stage) stand(t *testing.T) {
	t.Helper()
	routes := map[string]http.HandlerFunc{
		"/stats": func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.stats) },
		"/bookings": func(w http.ResponseWriter, r *http.Request) {
			status := r.FormValue("status")
			var found []verify.Booking
			for _, b := range s.Bookings {
				if status == "" || b.Status == status {
					found = append(found, b)
				}
			}
			writePage(w, r, "bookings", found, func(b verify.Booking) string { return b.ID.String() }, nil)
		},
		"/seats": func(w http.ResponseWriter, r *http.Request) {
			hall := map[string]any{"total": s.Total, "free": s.Free}
			writePage(w, r, "held", s.Held, func(h verify.Held) string { return strconv.Itoa(h.Seat) + h.BookingID.String() }, hall)
		},
		"/reservations": func(w http.ResponseWriter, r *http.Request) {
			writePage(w, r, "reservations", s.Reservations, func(v verify.Reservation) string { return v.BookingID.String() }, nil)
		},
		"/payments": func(w http.ResponseWriter, r *http.Request) {
			writePage(w, r, "payments", s.Payments, func(p verify.Payment) string { return p.BookingID.String() }, nil)
		},
		"/charges": func(w http.ResponseWriter, r *http.Request) {
			s.charged.Add(1)
			writePage(w, r, "charges", s.Charges, func(c verify.Charge) string { return c.BookingID.String() + c.Amount.String() }, nil)
		},
	}
	s.urls = map[string]string{}
	for name, paths := range map[string][]string{"": {"/stats", "/bookings"}, "seats-": {"/seats", "/reservations"}, "payments-": {"/payments", "/charges"}} {
		mux := http.NewServeMux()
		for _, path := range paths {
			mux.HandleFunc("GET "+path, routes[path])
		}
		if name == "" && s.dead != nil {
			mux.HandleFunc("GET /lab/dead", s.dead)
		}
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		s.urls[name] = server.URL
	}
}

func writePage[T any](w http.ResponseWriter, r *http.Request, list string, all []T, key func(T) string, document map[string]any) {
	const limit = 2
	if after := r.FormValue("after"); after != "" {
		all = all[1+slices.IndexFunc(all, func(v T) bool { return key(v) == after }):]
	}
	if document == nil {
		document = map[string]any{}
	}
	if len(all) > limit {
		all = all[:limit]
		document["next"] = key(all[limit-1])
	}
	document[list] = all
	_ = json.NewEncoder(w).Encode(document)
}

// verify runs the command against the stage.
func (s *stage) verify(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	args = append([]string{"verify", "--timeout=50ms"}, args...)
	for name, url := range s.urls {
		args = append(args, "--"+name+"url="+url)
	}
	var out, err strings.Builder
	code = run(t.Context(), args, console{&out, &err})
	return code, out.String(), err.String()
}

// newStage has seven bookings of which nothing is wrong.
func newStage() *stage {
	price := tickets.MustAmount("450.5")
	s := &stage{}
	s.Total, s.Free = 10, 7
	for i := range 7 {
		id := uuid.Must(uuid.NewV7())
		b := verify.Booking{ID: id, Seat: i + 1, Amount: price, TraceID: "trace" + strconv.Itoa(i)}
		switch i {
		case 0, 1, 2:
			b.Status = "Confirmed"
			s.Held = append(s.Held, verify.Held{Seat: b.Seat, BookingID: id})
			s.Reservations = append(s.Reservations, verify.Reservation{BookingID: id, Seat: b.Seat, Status: "reserved"})
			s.Payments = append(s.Payments, verify.Payment{BookingID: id, Amount: price, Status: "succeeded"})
			s.Charges = append(s.Charges, verify.Charge{BookingID: id, Amount: price})
		case 3:
			b.Status = "Rejected"
			s.Reservations = append(s.Reservations, verify.Reservation{BookingID: id, Seat: b.Seat, Status: "rejected"})
		default:
			b.Status, b.SeatReleased = "Cancelled", true
			s.Reservations = append(s.Reservations, verify.Reservation{BookingID: id, Seat: b.Seat, Status: "released"})
			s.Payments = append(s.Payments, verify.Payment{BookingID: id, Amount: price, Status: "failed"})
		}
		s.Bookings = append(s.Bookings, b)
	}
	return s
}

const (
	confirmed = 2 // the indices of one booking of each outcome
	rejected  = 3
	cancelled = 6
)

func TestVerifyFindsNothingWrong(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.stand(t)
	code, stdout, stderr := s.verify(t)
	want := `^1  .* OK\n2  .* OK\n3  .* OK\n4  .* OK\n5  .* not checked\n     there is no management API to ask what is in the queues: neither BROKER_URL nor --management-url names a RabbitMQ, .*\n` +
		`read 7 bookings, 7 reservations, 6 payments, 3 charges, and 10 seats of which 3 are held\n$`
	if code != 0 || stderr != "" || !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestVerifyFindsEachViolation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant     func(*stage)
		invariant int
		booking   int // that is named
		says      string
	}{
		"pending":          {func(s *stage) { s.Bookings[rejected].Status = "Pending" }, 1, rejected, "is not finished: Pending"},
		"not released":     {func(s *stage) { s.Bookings[cancelled].SeatReleased = false }, 1, cancelled, "is not finished: Cancelled"},
		"without a seat":   {func(s *stage) { s.Held, s.Free = s.Held[:2], 8 }, 2, confirmed, "does not hold seat 3"},
		"two holders":      {func(s *stage) { s.Held[2].Seat = 2 }, 2, confirmed, "holds seat 2, which booking"},
		"a Rejected holds": {func(s *stage) { s.hold(rejected) }, 2, rejected, "holds seat 4, but is Rejected"},
		"not paid":         {func(s *stage) { s.Payments = slices.Delete(s.Payments, 2, 3) }, 3, confirmed, "with 0 payments"},
		"charged twice":    {func(s *stage) { s.charge(confirmed) }, 3, confirmed, "was charged 2 times"},
		"wrong amount": {
			func(s *stage) { s.Payments[confirmed].Amount = tickets.MustAmount("45") }, 3, confirmed, "costs 450.5, but 45 was paid",
		},
		"charged in vain":    {func(s *stage) { s.charge(cancelled) }, 3, cancelled, "is Cancelled, but was charged once"},
		"a Rejected charged": {func(s *stage) { s.charge(rejected) }, 3, rejected, "is Rejected, but was charged once"},
		"charged too much": {
			func(s *stage) { s.Charges[confirmed].Amount = tickets.MustAmount("451") }, 3, confirmed, "costs 450.5, but 451 was charged",
		},
		"paid in vain":      {func(s *stage) { s.Payments[5].Status = "succeeded" }, 3, cancelled, "is Cancelled, but its payment succeeded"},
		"a Cancelled holds": {func(s *stage) { s.hold(cancelled) }, 4, cancelled, "is Cancelled, but holds seat 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			test.plant(s)
			s.stand(t)
			code, stdout, stderr := s.verify(t)
			b := s.Bookings[test.booking]
			line := regexp.MustCompile(`(?m)^` + strconv.Itoa(test.invariant) + `  .* \d violations?\n     booking ` + b.ID.String() + `  trace ` + b.TraceID + `  .*` + test.says)
			if code != exitFailed || !line.MatchString(stdout) || !strings.HasPrefix(stderr, "boxoffice: ") {
				t.Errorf("exit %d, want %s in\n%s%s", code, line, stdout, stderr)
			}
		})
	}
}

func (s *stage) charge(booking int) {
	s.Charges = append(s.Charges, verify.Charge{BookingID: s.Bookings[booking].ID, Amount: tickets.MustAmount("5")})
}

func (s *stage) hold(booking int) {
	b := s.Bookings[booking]
	s.Held = append(s.Held, verify.Held{Seat: b.Seat, BookingID: b.ID})
	s.Free--
}

func TestVerifyFindsWhatIsNotOfABooking(t *testing.T) {
	t.Parallel()
	stranger := uuid.New()
	for name, test := range map[string]struct {
		plant func(*stage)
		want  string
	}{
		"a refusal's trace": {
			func(s *stage) {
				s.Reservations = append(s.Reservations, verify.Reservation{BookingID: stranger, Seat: 9, Status: "rejected"})
			},
			`1  .* 1 violation\n     booking ` + stranger.String() + `  trace unknown  has a reservation of seat 9, but no booking\n`,
		},
		"nobody's charge": {
			func(s *stage) {
				s.Charges = append(s.Charges, verify.Charge{BookingID: stranger, Amount: tickets.MustAmount("5")})
			},
			`3  .* 1 violation\n     booking ` + stranger.String() + `  trace unknown  was charged 5, but does not exist\n`,
		},
		"a lost seat": {func(s *stage) { s.Free = 6 }, `4  .* 1 violation\n     6 seats free and 3 held are not the 10 of the hall\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			test.plant(s)
			s.stand(t)
			if code, stdout, stderr := s.verify(t); code != exitFailed || !regexp.MustCompile(test.want).MatchString(stdout) {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

func TestVerifySaysThatBookingsRun(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.Bookings[rejected].Status = "Pending"
	s.stats.Active = 1
	s.stand(t)
	code, _, stderr := s.verify(t)
	if code != exitFailed || stderr != "boxoffice: 1 violation; bookings were still running when time was up (1 active): --timeout waits longer; boxoffice explain BOOKING-ID says what one waits for\n" {
		t.Errorf("exit %d %s", code, stderr)
	}
}

func TestVerifyNamesTheServiceThatIsAway(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]string{"": "booking", "seats-": "seats", "payments-": "payments"} {
		s := newStage()
		s.stand(t)
		s.urls[name] = "http://127.0.0.1:1"
		code, stdout, stderr := s.verify(t)
		want := regexp.MustCompile(`^boxoffice: ` + service + `: http://127\.0\.0\.1:1 cannot be reached: .*; start the services with: boxoffice up\n$`)
		if code != exitUnanswered || stdout != "" || !want.MatchString(stderr) {
			t.Errorf("without %s: exit %d\n%s%s", service, code, stdout, stderr)
		}
	}
}

// Nobody waits for a booking that needs a service that is away.
func TestVerifyAsksAllBeforeItWaits(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.Bookings[rejected].Status = "Pending"
	s.stats.Active = 1
	s.stand(t)
	s.urls["payments-"] = "http://127.0.0.1:1"
	s.urls["seats-"] = s.urls[""]
	began := time.Now()
	code, _, stderr := s.verify(t, "--timeout=1h")
	if code != exitUnanswered || !strings.Contains(stderr, "boxoffice: payments: http://127.0.0.1:1 cannot be reached") ||
		!strings.Contains(stderr, "boxoffice: seats: "+s.urls[""]+" answers, but is no seats service (") {
		t.Errorf("exit %d after %s\n%s", code, time.Since(began), stderr)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	found, err := (&targets{URL: "http://h:5200/", PaymentsURL: "https://p/"}).find()
	if want := (verify.Targets{Booking: "http://h:5200", Seats: "http://h:5201", Payments: "https://p"}); err != nil || found != want {
		t.Errorf("%+v %v", found, err)
	}
	for _, args := range [][]string{{"verify", "--url=http://h:6200"}, {"reset", "--url=http://h:6200", "--seats-url=http://h:6201"}, {"reset", "--url=h"}} {
		var out strings.Builder
		if code := run(t.Context(), args, console{&out, &out}); code != exitUsage || !strings.Contains(out.String(), "http://h:6200 has not the usual port 5200: say --seats-url and") && !strings.Contains(out.String(), "URL of a service") {
			t.Errorf("%v: exit %d %s", args, code, &out)
		}
	}
}
