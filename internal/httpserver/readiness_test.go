package httpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
)

// withChecks is a server whose readiness these checks are.
func withChecks(t *testing.T, checks ...httpserver.Check) *echo.Echo {
	t.Helper()
	tel, _ := newTelemetry(t, io.Discard)
	return httpserver.New(httpserver.Options{Telemetry: tel, Readiness: httpserver.NewReadiness(tel.MeterProvider, checks...)})
}

func get(e *echo.Echo, path string) (*http.Response, string) {
	return do(e, httptest.NewRequest(http.MethodGet, path, nil))
}

func works(name string) httpserver.Check {
	return httpserver.Check{Name: name, Check: func(context.Context) error { return nil }}
}

func fails(name string, err error) httpserver.Check {
	return httpserver.Check{Name: name, Check: func(context.Context) error { return err }}
}

func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a check that hangs costs the limit in virtual time
		hang := make(chan struct{})
		defer close(hang)
		e := withChecks(
			t,
			fails("database", errors.New("refused")),
			works("up"),
			httpserver.Check{Name: "broker", Check: func(context.Context) error { <-hang; return nil }},
			httpserver.Check{Name: "bank", Check: func(context.Context) error { panic("oops") }},
		)
		start := time.Now()
		res, body := get(e, "/ready")
		p := problem(t, res, body, 503)
		if p.Detail != "not working: database for 2s, broker for 2s, bank for 2s" || p.Type != httpserver.TypeNotReady {
			t.Errorf("%s", body)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %s, want the limit of 2s", took)
		}
		res, body = get(withChecks(t, works("up")), "/ready")
		if res.StatusCode != http.StatusOK || strings.TrimSpace(body) != `{"status":"ready"}` {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	})
}

// Time is up for all parts because one hangs, and those that have answered are
// not blamed.
func TestReadyBlamesNoHealthyPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := httpserver.Check{Name: "database", Check: func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("write a row: %w", ctx.Err())
		}}
		e := withChecks(t, hangs, works("broker"), works("start"), works("door"))
		for range 50 { // the choice was made at random
			res, body := get(e, "/ready")
			p := problem(t, res, body, 503)
			if len(p.Errors) != 1 || p.Errors[0].Field != "database" || p.Errors[0].Detail != "write a row: context deadline exceeded" {
				t.Fatal(body)
			}
			time.Sleep(time.Second)
		}
	})
}

// A part that never answers is asked once, and works again when it answers.
func TestReadyAsksAHangingPartOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		hang := make(chan struct{})
		e := withChecks(t, httpserver.Check{Name: "bank", Check: func(context.Context) error {
			asked.Add(1)
			<-hang
			return nil
		}})
		for range 5 {
			res, body := get(e, "/ready")
			if p := problem(t, res, body, 503); p.Errors[0].Detail != "no answer within 2s" {
				t.Error(body)
			}
			time.Sleep(time.Second)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		close(hang)
		synctest.Wait()
		if res, body := get(e, "/ready"); res.StatusCode != http.StatusOK || asked.Load() != 2 {
			t.Errorf("%d %s, asked %d times", res.StatusCode, body, asked.Load())
		}
	})
}

// A flood of probes is one look at a time, and a few looks a second.
func TestReadyIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks, now atomic.Int32
		e := withChecks(t, httpserver.Check{Name: "database", Check: func(context.Context) error {
			if now.Add(1) > 1 {
				t.Error("two looks at a time")
			}
			defer now.Add(-1)
			looks.Add(1)
			time.Sleep(10 * time.Millisecond)
			return nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var probes sync.WaitGroup
		for range 20 {
			probes.Go(func() {
				for ctx.Err() == nil {
					if res, body := get(e, "/ready"); res.StatusCode != http.StatusOK {
						t.Errorf("%d %s", res.StatusCode, body)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		probes.Wait()
		if n := looks.Load(); n < 5 || n > 10 {
			t.Errorf("%d looks in a second", n)
		}
	})
}

// The first caller may leave: the look is not its own.
func TestReadyOutlastsItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, _ := newTelemetry(t, io.Discard)
		r := httpserver.NewReadiness(tel.MeterProvider, httpserver.Check{Name: "database", Check: func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		gone, leave := context.WithCancel(t.Context())
		leave()
		if failing := r.Failing(gone); len(failing) != 0 {
			t.Errorf("%v", failing)
		}
	})
}

type sinceError struct {
	error
	since time.Time
}

func (s sinceError) Since() time.Time { return s.since }

func TestReadySaysSinceWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now() // midnight of 2000-01-01
		broken := true
		e := withChecks(t,
			httpserver.Check{Name: "database", Check: func(context.Context) error {
				if broken {
					return errors.New("read-only")
				}
				return nil
			}},
			fails("broker", fmt.Errorf("publish: %w", sinceError{errors.New("blocked"), start.Add(-time.Hour)})),
		)
		want := func(database, detail string) {
			t.Helper()
			res, body := get(e, "/ready")
			problem(t, res, body, 503)
			if !strings.Contains(body, `"detail":"not working: `+detail+`"`) || !strings.Contains(body, database) ||
				!strings.Contains(body, `{"field":"broker","detail":"publish: blocked","since":"1999-12-31T23:00:00Z"}`) {
				t.Errorf("%s", body)
			}
		}
		want(`"since":"2000-01-01T00:00:00Z"`, "database, broker for 1h0m0s")
		time.Sleep(90*time.Second + time.Millisecond)
		want(`"since":"2000-01-01T00:00:00Z"`, "database for 1m30s, broker for 1h1m30s")
		broken = false
		time.Sleep(time.Second)
		want("", "broker for 1h1m31s")
		broken = true
		time.Sleep(time.Second)
		want(`"since":"2000-01-01T00:01:32Z"`, "database, broker for 1h1m32s")
	})
}

func TestReadyIsAMetric(t *testing.T) {
	e := withChecks(t, works("database"), fails("broker", errors.New("away")))
	_, metrics := get(e, "/metrics")
	for _, line := range []string{`boxoffice_ready{check="database"`, `boxoffice_ready{check="broker"`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s in\n%s", line, metrics)
		}
	}
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, `boxoffice_ready{check="database"`) && !strings.HasSuffix(line, " 1\n") ||
			strings.HasPrefix(line, `boxoffice_ready{check="broker"`) && !strings.HasSuffix(line, " 0\n") {
			t.Error(line)
		}
	}
}
