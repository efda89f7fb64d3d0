package database_test

import (
	"os"
	"path/filepath"
	"testing"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }

// onBoth runs a test on an empty database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) })
	t.Run("postgresql", func(t *testing.T) { test(t, testserver.SharedPostgres(t).Database(t, "database")) })
}

func open(t *testing.T, url string) *database.DB {
	t.Helper()
	db, err := database.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, db *database.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
