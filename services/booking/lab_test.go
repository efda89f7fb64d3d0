package booking

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/httpserver"
	"boxoffice/messaging"
)

// baggages is the baggage of each BookingCreated that waits for seats, oldest first.
func (r *rig) baggages() (all []string) {
	r.t.Helper()
	conn := r.server.Connect("looker")
	defer func() { _ = conn.Close(r.t.Context()) }()
	err := conn.Browse(r.t.Context(), "seats.BookingCreated", func(_ context.Context, m messaging.Message) (bool, error) {
		all = append(all, m.Header("baggage"))
		return false, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// The script travels with its booking only, and with its first publish only:
// a redrive goes without it.
func TestTheFaultScriptTravelsWithItsBooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		if w := r.post(t.Context(), 5, "X-Lab-Fault: seats.BookingCreated=drop*2"); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		synctest.Wait()
		r.book("6")
		time.Sleep(70 * time.Second) // both are redriven
		synctest.Wait()
		got := r.baggages()
		if len(got) != 4 || !strings.Contains(got[0], "drop") || strings.Contains(strings.Join(got[1:], ""), "drop") {
			t.Errorf("baggage: %q", got)
		}
	})
}

func TestAWrongScriptIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		for script, want := range map[string]string{
			"seats.BookingCreated=burn":  "at character 22",
			"hall.BookingCreated=fail":   "at character 1",
			strings.Repeat("x", 10_000):  "2000 characters",
			"seats.BookingCreated=fail*": "from 1 to 10",
			"":                           "the script is empty; want <service>.<Event>=<action>, for example",
		} {
			w := r.post(t.Context(), 5, "X-Lab-Fault: "+script)
			expectProblem(t, script, w, 422, []string{"X-Lab-Fault"})
			if p := decode[httpserver.Problem](t, w); !strings.Contains(p.Errors[0].Detail, want) {
				t.Errorf("%.40q: %s", script, p.Errors[0].Detail)
			}
		}
		if s := r.door.Stats(); s.Accepted != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A list may come in several headers, which are one script.
func TestAScriptInTwoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		first := "X-Lab-Fault: seats.BookingCreated=drop"
		if w := r.post(t.Context(), 5, first, "X-Lab-Fault: payments.SeatReserved=poison"); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		synctest.Wait()
		if got := r.baggages(); len(got) != 1 || !strings.Contains(got[0], "drop") || !strings.Contains(got[0], "poison") {
			t.Errorf("baggage: %q", got)
		}
		for second, want := range map[string]string{
			"payments.SeatReserved=burn": "at character 50",
			"seats.BookingCreated=drop":  "there already",
			"":                           "at character 28: want",
		} {
			w := r.post(t.Context(), 5, first, "X-Lab-Fault: "+second)
			expectProblem(t, second, w, 422, []string{"X-Lab-Fault"})
			if p := decode[httpserver.Problem](t, w); !strings.Contains(p.Errors[0].Detail, want) {
				t.Errorf("%q: %s", second, p.Errors[0].Detail)
			}
		}
	})
}

func TestWithoutTheLabThereAreNoFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Lab = false
		r := newRig(t, cfg)
		r.run()
		for _, header := range []string{
			"X-Lab-Fault: seats.BookingCreated=drop*2", "X-Lab-Fault: nonsense", "X-Lab-Fault: ",
			"Baggage: boxoffice.lab.fault=seats.BookingCreated%3Ddrop",
		} {
			if w := r.post(t.Context(), 5, header); w.Code != http.StatusAccepted {
				t.Errorf("%s: %d %s", header, w.Code, w.Body)
			}
		}
		synctest.Wait()
		if got := strings.Join(r.baggages(), ""); got != "" {
			t.Errorf("baggage: %q", got)
		}
	})
}
