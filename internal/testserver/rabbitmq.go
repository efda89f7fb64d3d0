package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Rabbit is a private RabbitMQ server of one node.
type Rabbit struct {
	// URL is the server's address with its administrator, on the vhost "/".
	URL string
	// ManagementURL is the root of the management API, with the same user:
	// http://guest:guest@127.0.0.1:PORT.
	ManagementURL string

	host string // of AMQP, without user and vhost
	m    machine
}

// StartRabbitMQ starts a server that keeps its data in a new folder under dir
// ("" is the default temp folder), and returns when it is ready. Close ends it;
// ctx bounds only the start.
func StartRabbitMQ(ctx context.Context, dir string) (*Rabbit, error) {
	scripts, err := here().rabbitmq(ctx)
	if err != nil {
		return nil, err
	}
	return create(func() (*Rabbit, machine, error) {
		ports, err := freePorts(ctx, 4)
		if err != nil {
			return nil, nil, err
		}
		r := &Rabbit{
			host:          loopback(ports[0]),
			URL:           "amqp://guest:guest@" + loopback(ports[0]) + "/",
			ManagementURL: "http://guest:guest@" + loopback(ports[1]),
		}
		if scripts == "" {
			r.m, err = rabbitContainer(ctx, here().rabbitmqImage(), ports[0], ports[1])
		} else {
			r.m, err = newRabbitNode(ctx, scripts, dir, ports)
		}
		return r, r.m, err
	}, func(r *Rabbit) error { return r.boot(ctx) })
}

func (r *Rabbit) boot(ctx context.Context) error {
	if err := boot(ctx, r.m, r.ready); err != nil {
		return fmt.Errorf("RabbitMQ: %w", err)
	}
	return nil
}

// Close ends the server and deletes its data.
func (r *Rabbit) Close() error { return r.m.remove(context.Background()) }

// CreateVHost makes an empty vhost in which the administrator has all rights
// (one that exists is deleted first) and returns its AMQP URL.
func (r *Rabbit) CreateVHost(ctx context.Context, name string) (string, error) {
	vhost := "/api/vhosts/" + url.PathEscape(name)
	if err := r.manage(ctx, http.MethodDelete, vhost, ""); err != nil && !errors.Is(err, errNotFound) {
		return "", err
	}
	if err := r.manage(ctx, http.MethodPut, vhost, "{}"); err != nil {
		return "", err
	}
	rights := `{"configure":".*","write":".*","read":".*"}`
	if err := r.manage(ctx, http.MethodPut, "/api/permissions/"+url.PathEscape(name)+"/guest", rights); err != nil {
		return "", err
	}
	return r.URL + url.PathEscape(name), nil
}

// ready is nil once AMQP and the management API answer. A listening port is
// not enough: Docker's proxy accepts before the server does.
func (r *Rabbit) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.host)
	if err != nil {
		return fmt.Errorf("AMQP: %w", err)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // a closed connection fails below
	if _, err := io.WriteString(conn, "AMQP\x00\x00\x09\x01"); err != nil {
		return fmt.Errorf("AMQP: %w", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil { // the start of connection.start
		return fmt.Errorf("AMQP: %w", err)
	}
	return r.manage(ctx, http.MethodGet, "/api/overview", "")
}

var errNotFound = errors.New("not found")

// manage makes one request of the management API.
func (r *Rabbit) manage(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, r.ManagementURL+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("management API: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // leaves no goroutine behind
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("management API: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("management API: %s %s: %w", method, path, errNotFound)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("management API: %s %s: %s", method, path, resp.Status)
	}
	return nil
}

// RabbitMQ starts a server that ends with the test.
func RabbitMQ(tb testing.TB) *Rabbit {
	tb.Helper()
	r, err := StartRabbitMQ(tb.Context(), "")
	if err != nil {
		unavailable(tb, err)
	}
	tb.Cleanup(func() { check(tb, r.Close()) })
	return r
}

// Kill ends the server at once, by SIGKILL, as a crash would. Only what it holds
// back about new queues is written first: for three seconds after its
// declaration a quorum queue would not survive, nor its confirmed messages (seen
// on 3.10), which no client can mend.
func (r *Rabbit) Kill(tb testing.TB) {
	tb.Helper()
	if r.m.alive(tb.Context()) != nil {
		return
	}
	r.Ctl(tb, "eval", "[dets:sync(Table) || Table <- dets:all()].")
	check(tb, r.m.kill(tb.Context()))
}

// Stop ends the server in good order.
func (r *Rabbit) Stop(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), stopTimeout)
	defer cancel()
	check(tb, r.m.stop(ctx))
}

// Start starts the server again after Kill or Stop, with the same data and on
// the same ports, and returns when it is ready.
func (r *Rabbit) Start(tb testing.TB) {
	tb.Helper()
	check(tb, r.boot(tb.Context()))
}

// Ctl runs rabbitmqctl against the server and returns what it printed.
func (r *Rabbit) Ctl(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := r.m.tool(tb.Context(), "rabbitmqctl", args...)
	check(tb, err)
	return out
}

// VHost is CreateVHost for tests.
func (r *Rabbit) VHost(tb testing.TB, name string) string {
	tb.Helper()
	u, err := r.CreateVHost(tb.Context(), name)
	check(tb, err)
	return u
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
