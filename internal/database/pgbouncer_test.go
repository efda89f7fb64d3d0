package database_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

// Behind PgBouncer everything works without a setting in the URL: replicas that
// migrate at once, batches on whatever connection there is, the application's
// name, and the probe.
func TestBehindPgBouncer(t *testing.T) {
	server := testserver.SharedPostgres(t)
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			url := testserver.PgBouncer(t, server, mode).URL(t, server.Database(t, "bouncer"))
			replicas := []*database.DB{open(t, url), open(t, url), open(t, url)}
			atOnce(t, replicas, func(db *database.DB) error { return db.Migrate(t.Context(), schema(first, second)) })
			atOnce(t, replicas, func(db *database.DB) error {
				for range 50 {
					if _, err := insert(t, db); err != nil {
						return err
					}
				}
				return db.Working(t.Context())
			})
			if n := rows(t, replicas[0], "a"); n != 3*4*50 {
				t.Errorf("%d rows", n)
			}
			var name string
			if err := replicas[0].QueryRowContext(t.Context(), `SHOW application_name`).Scan(&name); err != nil || name != "boxoffice" {
				t.Errorf("application_name %q, %v", name, err)
			}
		})
	}
}

// atOnce does something in four goroutines of each.
func atOnce(t *testing.T, dbs []*database.DB, do func(*database.DB) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, db := range dbs {
		for range 4 {
			wg.Go(func() {
				if err := do(db); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func insert(t *testing.T, db *database.DB) ([]uuid.UUID, error) {
	t.Helper()
	from, args := db.Table(database.Col("id", []uuid.UUID{uuid.New()}), database.Col("n", []int64{1}))
	scan := func(r database.Row) (id uuid.UUID, err error) {
		err = r.Scan(&id)
		return id, err
	}
	return database.Query(t.Context(), db, scan,
		`INSERT INTO a (id, n) SELECT id, n FROM `+from+` WHERE true RETURNING id`, args...)
}

// A setting of the URL wins over ours.
func TestSettingsOfTheURLWin(t *testing.T) {
	url := testserver.SharedPostgres(t).Database(t, "own") + "&default_query_exec_mode=cache_statement&plan_cache_mode=auto&application_name=mine"
	db := open(t, url)
	db.SetMaxOpenConns(1)
	var one, kept int
	if err := db.QueryRowContext(t.Context(), `SELECT $1::bigint`, 1).Scan(&one); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_prepared_statements`).Scan(&kept); err != nil || kept == 0 {
		t.Errorf("default_query_exec_mode=cache_statement: %d statements are kept, %v", kept, err)
	}
	for setting, want := range map[string]string{"plan_cache_mode": "auto", "application_name": "mine"} {
		var got string
		if err := db.QueryRowContext(t.Context(), `SHOW `+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", setting, got, err, want)
		}
	}
}
