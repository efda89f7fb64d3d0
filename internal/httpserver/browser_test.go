package httpserver_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// lab is a server whose lab is on.
func lab(t *testing.T, hosts ...string) *echo.Echo {
	t.Helper()
	tel, _ := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel, Lab: true, AllowedHosts: hosts})
	done := func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }
	e.GET("/lab/reset", done)
	e.POST("/lab/reset", done)
	return e
}

func TestCrossOrigin(t *testing.T) {
	tel, _ := newTelemetry(t, io.Discard)
	off := httpserver.New(httpserver.Options{Telemetry: tel})
	off.POST("/lab/reset", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	off.GET("/lab/reset", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	for _, test := range []struct {
		name         string
		method       string
		origin, site string
		refused      bool
	}{
		{"curl", "POST", "", "", false},
		{"a page of another site", "POST", "https://evil.example", "cross-site", true},
		{"a page of another port", "POST", "http://localhost:3000", "same-site", true},
		{"our own page", "POST", "http://localhost:5200", "same-origin", false},
		{"the address bar", "POST", "", "none", false},
		{"an old browser, another site", "POST", "https://evil.example", "", true},
		{"an old browser, a sandboxed frame", "POST", "null", "", true},
		{"an old browser, our own page", "POST", "http://localhost:5200", "", false},
		{"another site, no Origin", "POST", "", "cross-site", true},
		{"a link from another site", "GET", "", "cross-site", false},
		{"another site looks", "HEAD", "https://evil.example", "cross-site", false},
		{"a preflight", "OPTIONS", "https://evil.example", "cross-site", false},
		{"a route that is not there", "DELETE", "https://evil.example", "cross-site", true},
	} {
		for name, e := range map[string]*echo.Echo{"lab on": lab(t), "lab off": off} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				r := httptest.NewRequest(test.method, "http://localhost:5200/lab/reset", nil)
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
				if test.site != "" {
					r.Header.Set("Sec-Fetch-Site", test.site)
				}
				res, body := do(e, r)
				if !test.refused {
					if res.StatusCode != http.StatusNoContent {
						t.Errorf("%d %s", res.StatusCode, body)
					}
					return
				}
				if p := problem(t, res, body, 403); p.Type != httpserver.TypeCrossOrigin || !strings.Contains(p.Detail, "Use curl") {
					t.Error(body)
				}
			})
		}
	}
}

func TestHosts(t *testing.T) {
	e := lab(t, "Tickets.Example.org", "box.local.")
	for host, allowed := range map[string]bool{
		"localhost": true, "localhost:5200": true, "LOCALHOST:5200": true, "localhost.:5200": true, "booking:5200": true, "a.b.localhost": true,
		"127.0.0.1": true, "127.0.0.1:5200": true, "10.1.2.3:80": true, "[::1]": true, "[::1]:5200": true, "[fe80::1%25eth0]:5200": true, "[fe80::1%eth0]": true,
		"tickets.example.org": true, "TICKETS.example.org:443": true, "tickets.example.org.": true, "box.local:5200": true,
		"":             true, // HTTP/1.0
		"evil.example": false, "evil.example:5200": false, "evil.example.": false, "localhost.evil.example": false, "evil-localhost.example": false,
		"127.0.0.1.evil.example": false, "x.tickets.example.org": false, "[::1].evil.example": false, "::1.evil.example:80": false,
		"evil.example:80:80": false, "notlocalhost.": true, "evil.notlocalhost": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
			r := httptest.NewRequest(method, "/lab/reset", nil)
			r.Host = host
			res, body := do(e, r)
			if !allowed {
				if p := problem(t, res, body, 403); p.Type != httpserver.TypeHost || !strings.Contains(p.Detail, "ALLOWED_HOSTS=") {
					t.Errorf("%s %q: %s", method, host, body)
				}
			} else if res.StatusCode != http.StatusNoContent {
				t.Errorf("%s %q: %d %s", method, host, res.StatusCode, body)
			}
		}
	}
	for _, path := range []string{"/live", "/ready", "/metrics", "/nowhere"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example"
		if res, _ := do(e, r); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	tel, _ := newTelemetry(t, io.Discard)
	if res, _ := do(httpserver.New(httpserver.Options{Telemetry: tel}), httptest.NewRequest(http.MethodGet, "http://evil.example/live", nil)); res.StatusCode != http.StatusOK {
		t.Errorf("lab off: %d", res.StatusCode)
	}
}

// What counts is whom the request is for, as net/http reads it.
func TestHostOnTheWire(t *testing.T) {
	server := httptest.NewServer(lab(t))
	defer server.Close()
	for request, want := range map[string]string{
		"GET /lab/reset HTTP/1.0\r\n\r\n":                                             "204",
		"GET /lab/reset HTTP/1.0\r\nHost: evil.example\r\n\r\n":                       "403",
		"GET /lab/reset HTTP/1.1\r\n\r\n":                                             "400",
		"GET http://evil.example/lab/reset HTTP/1.1\r\nHost: localhost\r\n\r\n":       "403",
		"GET http://localhost/lab/reset HTTP/1.1\r\nHost: evil.example\r\n\r\n":       "204",
		"GET /lab/reset HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":    "400",
		"POST /lab/reset HTTP/1.1\r\nHost: localhost:5200\r\nOrigin: null\r\n\r\n":    "403",
		"POST /lab/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n":    "204",
		"HEAD /lab/reset HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n": "403",
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " "+want+" ") {
			t.Errorf("%q: %q %v, want %s", request, line, err, want)
		}
		_ = conn.Close()
	}
}
