package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"boxoffice/internal/client"
	"boxoffice/internal/verify"
)

// Every command that is sent to the wrong address says so in the same words.
func TestStrangers(t *testing.T) {
	t.Parallel()
	_, services := labStack(t)
	seats := strings.TrimPrefix(services[1], "--seats-url=") // one of ours, but not the one that is asked for
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer html.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }))
	defer refusing.Close()
	others := []string{"--seats-url=" + seats, "--payments-url=" + strings.TrimPrefix(services[2], "--payments-url=")}
	for _, args := range [][]string{
		{"book", "--seat=1", "--amount=1", "--customer=a"},
		{"book", "--seat=1", "--amount=1", "--customer=a", "--fault=seats.BookingCreated=fail"},
		{"demo"},
		{"load"},
		{"trace", "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c"},
		append([]string{"explain", "0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c"}, others...),
		append([]string{"verify"}, others...),
		append([]string{"reset"}, others...),
		{"dead", "list"},
		{"dead", "drop", "--all", "--yes"},
		{"dead", "redrive", "--all"},
	} {
		for _, url := range []string{seats, html.URL, refusing.URL} {
			var out strings.Builder
			code := run(t.Context(), append(args, "--url="+url), console{&out, &out})
			if code == 0 || !strings.Contains(out.String(), url+" answers, but is no booking service (") || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%s, of %s: exit %d\n%s", strings.Join(args, " "), url, code, &out)
			}
		}
	}
	var out strings.Builder
	if code := run(t.Context(), []string{"health", html.URL}, console{&out, &out}); code != exitFailed || !strings.Contains(out.String(), html.URL+" answers, but is no boxoffice service (") {
		t.Errorf("health: exit %d\n%s", code, &out)
	}
}

func TestSoon(t *testing.T) {
	t.Parallel()
	booking, _, _, err := connect(verify.Targets{Booking: "http://h:1", Seats: "http://h:2", Payments: "http://h:3"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := booking.soon(t.Context())
		defer cancel()
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, client.ErrUnreachable) || err.Error() != "http://h:1 cannot be reached: no answer within 10s" {
			t.Error(err)
		}
	})
}

// To start everything here mends nothing elsewhere.
func TestStartFirst(t *testing.T) {
	t.Parallel()
	const start, elsewhere = "; start the services with: boxoffice up", "; is it running, and is that its address?"
	for _, url := range []string{"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"} {
		c, err := client.New(url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Stats(t.Context())
		c.Close()
		if got := startFirst(err).Error(); !strings.HasPrefix(got, url+" cannot be reached: ") || !strings.HasSuffix(got, start) {
			t.Errorf("%s: %s", url, got)
		}
	}
	for _, cause := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "payments", IsNotFound: true}},
		&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 5200}, Err: syscall.ECONNREFUSED},
		errors.New("no answer within 10s"),
	} {
		err := fmt.Errorf("http://h %w: %w", client.ErrUnreachable, cause)
		if got := startFirst(err); !errors.Is(got, cause) || got.Error() != err.Error()+elsewhere {
			t.Error(got)
		}
	}
	if refused := errors.New("422"); startFirst(refused) != refused { //nolint:errorlint // unchanged
		t.Error("an answer got advice about none")
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a",
		"503 Not ready\n  store: failed to connect:\n\t127.0.0.1:1: refused\n\t[::1]:1: refused\n": "503 Not ready; store: failed to connect: 127.0.0.1:1: refused; [::1]:1: refused",
	} {
		if got := oneLine(errors.New(text)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a service says in several lines is one line of a health check.
func TestHealthSaysOneLine(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"title":"Not ready","errors":[{"field":"store","detail":"failed to connect:\n\tdial error"}]}`)
	}))
	defer service.Close()
	var out strings.Builder
	code := run(t.Context(), []string{"health", service.URL}, console{&out, &out})
	if code != exitFailed || out.String() != "boxoffice: 503 Not ready; store: failed to connect: dial error\n" {
		t.Errorf("exit %d %s", code, &out)
	}
}
