package httpserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/telemetry"
)

// BenchmarkPost is what a request costs beside its handler's own work.
func BenchmarkPost(b *testing.B) {
	tel, err := telemetry.New(context.Background(), telemetry.Options{
		Service: "test", LogOutput: io.Discard, Getenv: func(string) string { return "" },
	})
	if err != nil {
		b.Fatal(err)
	}
	e := httpserver.New(httpserver.Options{Telemetry: tel})
	e.POST("/bookings", func(c echo.Context) error {
		o, err := httpserver.DecodeObject(c)
		if err != nil {
			return err
		}
		o.Int("seat", 1, 100)
		o.Text("customer", 1, 100)
		if err := o.Err(); err != nil {
			return err
		}
		return c.NoContent(http.StatusAccepted)
	})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/bookings", strings.NewReader(`{"seat":5,"customer":"olena"}`))
		r.Header.Set("Content-Type", "application/json")
		e.ServeHTTP(httptest.NewRecorder(), r)
	}
}
