// Package participanttest is what the tests of the services have in common: a
// service on either database, without a broker, with its log to be read.
package participanttest

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing" //nolint:depguard // it is for tests

	"boxoffice/internal/database"
	"boxoffice/internal/participant"
	"boxoffice/internal/telemetry"
	"boxoffice/internal/testserver" //nolint:depguard // it is for tests
	"boxoffice/messaging"
)

// OnBoth runs a test on an empty database of each kind: one contract, one suite.
func OnBoth(t *testing.T, service string, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), service+".db")) })
	t.Run("postgresql", func(t *testing.T) { test(t, testserver.SharedPostgres(t).Database(t, service)) })
}

// Deaf is a broker for services whose handlers are called directly.
type Deaf struct{ messaging.Broker }

// System names it.
func (Deaf) System() string { return "none" }

// Ready is never wrong.
func (Deaf) Ready() error { return nil }

// Consuming is never wrong.
func (Deaf) Consuming() error { return nil }

// Deps are what a service is given on a database that is not prepared, and its
// log. The test closes them.
func Deps(t *testing.T, service, url string, broker messaging.Broker) (participant.Deps, *Log) {
	t.Helper()
	db, err := database.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	log := newLog()
	tel, err := telemetry.New(t.Context(), telemetry.Options{
		Service: service, LogOutput: log, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return participant.Deps{DB: db, Broker: broker, Telemetry: tel}, log
}

// Migrate prepares a service's database with the migrations in its folder migrations.
func Migrate(t *testing.T, service string, db *database.DB, files embed.FS) {
	t.Helper()
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), participant.Schema(service, migrations)); err != nil {
		t.Fatal(err)
	}
}

// Get is the status and the body of a GET, whose content type must be ours.
func Get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	wantType := "application/json"
	if rec.Code >= http.StatusBadRequest {
		wantType = "application/problem+json"
	}
	if got := rec.Header().Get("Content-Type"); !strings.HasPrefix(got, wantType) {
		t.Errorf("GET %s: content type %q, want %q", path, got, wantType)
	}
	return rec.Code, strings.TrimSpace(rec.Body.String())
}
