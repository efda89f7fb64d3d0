package httpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// HEAD says what GET says, but for the body, whatever the answer is.
func TestHead(t *testing.T) {
	tel, _ := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.GET("/bookings/:id", func(c echo.Context) error {
		if c.Param("id") == "0" {
			return httpserver.NotFound("There is no booking 0.")
		}
		return c.JSON(http.StatusOK, map[string]string{"id": c.Param("id")})
	})
	server := httptest.NewServer(e)
	defer server.Close()
	ask := func(method, path string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "identity")
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	for path, status := range map[string]int{
		"/live": 200, "/ready": 200, "/metrics": 200, "/bookings/7": 200, "/bookings/0": 404, "/nowhere": 404,
	} {
		get, _ := ask(http.MethodGet, path)
		head, body := ask(http.MethodHead, path)
		if head.StatusCode != status || get.StatusCode != status || body != "" {
			t.Errorf("%s: GET %d, HEAD %d, body %q", path, get.StatusCode, head.StatusCode, body)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control"} {
			if path != "/metrics" && head.Header.Get(name) != get.Header.Get(name) {
				t.Errorf("%s: %s of GET %q, of HEAD %q", path, name, get.Header.Get(name), head.Header.Get(name))
			}
		}
	}
}

func TestOptions(t *testing.T) {
	tel, _ := newTelemetry(t, io.Discard)
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	none := func(c echo.Context) error { return c.NoContent(http.StatusOK) }
	e.GET("/bookings", none)
	e.POST("/bookings", none)
	e.POST("/lab/reset", none)
	for path, allow := range map[string]string{
		"/live": "OPTIONS, GET, HEAD", "/bookings": "OPTIONS, GET, HEAD, POST", "/lab/reset": "OPTIONS, POST",
	} {
		res, body := do(e, httptest.NewRequest(http.MethodOptions, path, nil))
		if res.StatusCode != http.StatusNoContent || body != "" || res.Header.Get("Allow") != allow {
			t.Errorf("OPTIONS %s: %d, Allow %q", path, res.StatusCode, res.Header.Get("Allow"))
		}
		res, body = do(e, httptest.NewRequest(http.MethodDelete, path, nil))
		problem(t, res, body, 405)
		if res.Header.Get("Allow") != allow {
			t.Errorf("DELETE %s: Allow %q", path, res.Header.Get("Allow"))
		}
	}
	if res, _ := do(e, httptest.NewRequest(http.MethodHead, "/lab/reset", nil)); res.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(res.Header.Get("Allow"), "POST") {
		t.Errorf("HEAD of a POST route: %d", res.StatusCode)
	}
}
