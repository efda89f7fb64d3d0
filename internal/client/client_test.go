package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve is a client of a service that answers with h.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return connect(t, server.URL)
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestBook(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/bookings" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			string(body) != `{"seat":5,"customer":"olena","amount":450.5}` {
			t.Errorf("%s %s %s %s", r.Method, r.URL, r.Header, body)
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"id":"b1","status":"Pending","traceId":"t1","amount":450.5}`)
	})
	b, err := c.Book(t.Context(), client.Wish{Seat: 5, Customer: "olena", Amount: tickets.MustAmount("450.5")})
	if err != nil || b.ID != "b1" || b.TraceID != "t1" || b.Finished() {
		t.Errorf("%+v %v", b, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{
			"fields", "application/problem+json", `{"title":"Wrong field values","detail":"Mend it.","errors":[{"field":"seat","detail":"is missing"}]}`, 422,
			"422 Wrong field values: Mend it.\n  seat: is missing",
		},
		{"busy", "application/problem+json; charset=utf-8", `{"title":"Too Many Requests"}`, 429, "429 Too Many Requests (again in 3s)"},
		{"failure", "application/problem+json", `{"traceId":"t1"}`, 500, "500 Internal Server Error (again in 3s) (trace t1)"},
		{"busy proxy", "text/html", "<html>", 429, "429 Too Many Requests: not in the words of a booking service, but perhaps of a proxy in front of it (again in 3s)"},
		{"stopped proxy", "", "", 503, "503 Service Unavailable: not in the words of a booking service, but perhaps of a proxy in front of it (again in 3s)"},
		{"no problem, but busy", "application/problem+json", "<html>", 429, "429 Too Many Requests: not in the words of a booking service, but perhaps of a proxy in front of it (again in 3s)"},
		{"proxy without a service", "text/html", "<html>", 502, "http://SERVER answers, but is no booking service (POST /bookings: 502 Bad Gateway, text/html)"},
		{"another server", "text/html", "<html>", 404, "http://SERVER answers, but is no booking service (POST /bookings: 404 Not Found, text/html)"},
		{"another method", "", "", 405, "http://SERVER answers, but is no booking service (POST /bookings: 405 Method Not Allowed)"},
		{"no problem", "application/problem+json", "<html>", 404, "http://SERVER answers, but is no booking service (POST /bookings: 404 Not Found, application/problem+json)"},
		{"success of another server", "text/html", "<html>", 200, "http://SERVER answers, but is no booking service (POST /bookings: 200 OK, text/html)"},
		{"another success", "application/json", "{}", 200, "http://SERVER answers, but is no booking service (POST /bookings: no booking)"},
		{"another of ours", "application/problem+json", `{"type":"about:blank"}`, 404, "http://SERVER answers, but is no booking service (POST /bookings: 404 Not Found)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := ""
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				host = r.Host
				w.Header().Set("Content-Type", test.contentType)
				if test.status == 429 || test.status == 500 || test.status == 503 {
					w.Header().Set("Retry-After", "3")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			})
			_, err := c.Book(t.Context(), client.Wish{})
			if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Refused() != (test.status == 429 || test.status == 503) {
				t.Errorf("refused: %t", p.Refused())
			}
			if err == nil || strings.ReplaceAll(err.Error(), host, "SERVER") != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// closed is the address of a service that is not there.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String()
}

func TestUnreachable(t *testing.T) {
	url := closed(t)
	c := connect(t, url)
	_, err := c.Book(t.Context(), client.Wish{})
	if !errors.Is(err, client.ErrUnreachable) || !strings.HasPrefix(err.Error(), url+" cannot be reached: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Book(ctx, client.Wish{}); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnreachable) {
		t.Errorf("given up: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Finish(ctx, client.Booking{ID: "b1"}); !errors.Is(err, client.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
}

// Each question that a booking service can answer finds out who is none.
func TestStrangers(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"about:blank"}`)
	})
	_, booking := c.Booking(t.Context(), "b1")
	_, list := c.Bookings(t.Context(), "", "", 1)
	_, stats := c.Stats(t.Context())
	for path, err := range map[string]error{"/bookings/b1": booking, "/bookings": list, "/stats": stats} {
		s, ok := errors.AsType[*client.StrangerError](err)
		if !ok || s.Service != "booking" || s.Answer != "GET "+path+": 404 Not Found" {
			t.Errorf("%s: %v", path, err)
		}
	}
	html := httptest.NewServer(http.FileServerFS(fstest.MapFS{"index.html": {Data: []byte("<html>")}}))
	defer html.Close()
	other, err := client.New(html.URL, client.Of("seats"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Get(t.Context(), "", &struct{}{}); err == nil || err.Error() != html.URL+" answers, but is no seats service (GET /: 200 OK, text/html)" {
		t.Errorf("%v", err)
	}
}

func TestWrongURL(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:5200", "ftp://h", "http://", "http://[::1"} {
		if _, err := client.New(url); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

// Finish waits for the free seat of a cancelled booking, and outlasts a service
// that is away in between.
func TestFinish(t *testing.T) {
	answers := []any{
		client.Booking{ID: "b1", Status: "Pending"},
		http.StatusServiceUnavailable,
		nil, // no answer at all
		client.Booking{ID: "b1", Status: "Cancelled"},
		client.Booking{ID: "b1", Status: "Cancelled", SeatReleased: true},
	}
	var mu sync.Mutex // a connection that was cut may still have its handler
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bookings/b1" || r.URL.RawQuery != "wait=30s" {
			t.Errorf("asked for %s", r.URL)
		}
		mu.Lock()
		answer := answers[0]
		answers = answers[1:]
		mu.Unlock()
		switch a := answer.(type) {
		case client.Booking:
			_ = json.NewEncoder(w).Encode(a)
		case int:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(a)
			fmt.Fprint(w, "{}")
		default:
			panic(http.ErrAbortHandler)
		}
	})
	b, err := c.Finish(t.Context(), client.Booking{ID: "b1"})
	mu.Lock()
	defer mu.Unlock()
	if err != nil || !b.SeatReleased || len(answers) != 0 {
		t.Errorf("%+v %v, %d answers left", b, err, len(answers))
	}
}

func TestBookings(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"bookings":[{"id":"b1"}],"next":%q}`, r.URL.RequestURI())
	})
	for want, ask := range map[string][2]string{
		"/bookings?limit=7":                         {"", ""},
		"/bookings?after=b0&limit=7&status=Pending": {"Pending", "b0"},
	} {
		p, err := c.Bookings(t.Context(), ask[0], ask[1], 7)
		if err != nil || len(p.Bookings) != 1 || p.Bookings[0].ID != "b1" || p.Next != want {
			t.Errorf("%+v %v, want %s", p, err, want)
		}
	}
}

func TestPost(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/lab/drain" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	if err := c.Post(t.Context(), "lab/drain"); err != nil {
		t.Error(err)
	}
}

func TestFinishGivesUpOnALostBooking(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"There is no booking b1."}`)
	})
	_, err := c.Finish(t.Context(), client.Booking{ID: "b1"})
	if p, ok := errors.AsType[*client.ProblemError](err); !ok || p.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

func TestReadyAndAccepting(t *testing.T) {
	asked := map[string]int{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		again := asked[r.URL.Path] > 1
		if r.URL.Path == "/ready" && !again {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{}`)
			return
		}
		fmt.Fprintf(w, `{"status":"ready","accepting":%t}`, again)
	})
	if err := errors.Join(c.Ready(t.Context()), c.Accepting(t.Context())); err != nil || asked["/ready"] != 2 || asked["/stats"] != 2 {
		t.Errorf("%v, asked %v", err, asked)
	}
	if status, err := c.Health(t.Context()); err != nil || status != "ready" {
		t.Errorf("%q %v", status, err)
	}
}
