package rabbitmqtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// The variables that name the broker of the tests.
const (
	EnvURL        = "MESSAGING_TEST_RABBITMQ_URL"
	EnvManagement = "MESSAGING_TEST_RABBITMQ_MANAGEMENT_URL"
	EnvRequire    = "MESSAGING_TEST_REQUIRE"
)

// Server is a RabbitMQ with its administrator.
type Server struct {
	URL           string // amqp://USER:PASSWORD@HOST:PORT/, whose virtual host does not matter
	ManagementURL string // http://USER:PASSWORD@HOST:PORT
	// KeepVHosts leaves the virtual hosts of the tests where they are: a RabbitMQ
	// 3.10 that is killed after one was deleted loses its way with the others'
	// queues (INTERNAL_ERROR).
	KeepVHosts bool
}

// Given returns the server that the environment names, or skips the test.
func Given(tb testing.TB) Server {
	tb.Helper()
	address := os.Getenv(EnvURL)
	if address == "" {
		why := "no RabbitMQ to test with: set " + EnvURL + " to amqp://USER:PASSWORD@HOST:PORT/"
		if os.Getenv(EnvRequire) == "1" {
			tb.Fatal(why)
		}
		tb.Skip(why)
	}
	u, err := neturl.Parse(address)
	if err != nil || u.Scheme != "amqp" || u.Host == "" {
		tb.Fatalf("%s is no amqp://USER:PASSWORD@HOST:PORT/", EnvURL)
	}
	management := os.Getenv(EnvManagement)
	if management == "" {
		management = (&neturl.URL{Scheme: "http", User: u.User, Host: net.JoinHostPort(u.Hostname(), "15672")}).String()
	}
	return Server{URL: address, ManagementURL: strings.TrimRight(management, "/")}
}

// at returns the server's address with a virtual host.
func (s Server) at(vhost string) (string, error) {
	u, err := neturl.Parse(s.URL)
	if err != nil {
		return "", fmt.Errorf("the broker's URL: %w", err)
	}
	u.Path = "/" + vhost
	return u.String(), nil
}

// AsUser returns a broker's URL for another user.
func AsUser(t testing.TB, broker, user, password string) string {
	t.Helper()
	u, err := neturl.Parse(broker)
	if err != nil {
		t.Fatal(err)
	}
	u.User = neturl.UserPassword(user, password)
	return u.String()
}

// manage makes one request of the management API. The body, if any, is JSON, or
// is made into it.
func (s Server) manage(tb testing.TB, method, path string, body any) {
	tb.Helper()
	text, ok := body.([]byte)
	if !ok && body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			tb.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also after the test, to clean up
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.ManagementURL+"/api/"+path, bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // leaves no goroutine behind
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatalf("the management API, which %s names: %v", EnvManagement, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // only to say more
		tb.Fatalf("management API: %s %s: %s %s", method, path, resp.Status, answer)
	}
}
