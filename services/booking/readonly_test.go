package booking

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"boxoffice/internal/testserver"
	"boxoffice/messaging/inproc"
)

// A database that was read-only for a while, and whose connections were opened
// meanwhile, takes bookings again by itself.
func TestBookingsAreTakenAgainAfterAReadOnlyDatabase(t *testing.T) {
	server := testserver.SharedPostgres(t)
	address := server.Database(t, "booking_readonly")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(u.Path, "/")
	r := restart(t, testConfig(), &rig{t: t, server: inproc.New(inproc.Options{}), url: address})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	answers := func(method, path string, want int) {
		t.Helper()
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		deadline := time.After(3 * time.Minute)
		for {
			body := ""
			if method == http.MethodPost {
				body = `{"seat":5,"customer":"olena","amount":450}`
			}
			w := r.do(method, path, body)
			if w.Code == want {
				return
			}
			select {
			case <-again.C:
			case <-deadline:
				t.Fatalf("%s %s: still %d %s, want %d", method, path, w.Code, w.Body, want)
			}
		}
	}
	answers(http.MethodGet, "/ready", http.StatusOK)
	server.Exec(t, "", `ALTER DATABASE "`+database+`" SET default_transaction_read_only = on`)
	server.Exec(t, "", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+database+`'`)
	answers(http.MethodPost, "/bookings", http.StatusServiceUnavailable)
	answers(http.MethodGet, "/ready", http.StatusServiceUnavailable)
	server.Exec(t, "", `ALTER DATABASE "`+database+`" RESET default_transaction_read_only`)
	answers(http.MethodPost, "/bookings", http.StatusAccepted)
	answers(http.MethodGet, "/ready", http.StatusOK)
}
