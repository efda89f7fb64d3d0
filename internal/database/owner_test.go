package database_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"boxoffice/internal/database"
)

// othersSchema is that of the service "other", whose databases have the table b.
func othersSchema() database.Schema {
	s := schema("00001_b.sql: CREATE TABLE b (n BIGINT);")
	s.Owner, s.Others = "other", []string{"own"}
	return s
}

func TestADatabaseOfAnotherServiceIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *database.DB){
		"migrated": func(t *testing.T, db *database.DB) {
			if err := db.Migrate(t.Context(), othersSchema()); err != nil {
				t.Fatal(err)
			}
		},
		"claimed only": func(t *testing.T, db *database.DB) {
			broken := schema("00001_b.sql: CREATE TABLE nonsense (;")
			broken.Owner = "other"
			if err := db.Migrate(t.Context(), broken); err == nil {
				t.Fatal("a broken migration succeeded")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, url string) {
				db := open(t, url)
				prepare(t, db)
				err := db.Migrate(t.Context(), schema(first))
				if !errors.Is(err, database.ErrForeign) {
					t.Fatalf("%v, want ErrForeign", err)
				}
				for _, want := range []string{"DATABASE_URL", "own", "other"} {
					if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
						t.Errorf("unclear: %s", text)
					}
				}
				exec(t, db, `CREATE TABLE a (n BIGINT)`) // nothing was migrated
			})
		})
	}
}

// Two services are given one empty database at the same moment.
func TestOneOfTwoServicesGetsTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		schemas := []database.Schema{schema(first), othersSchema()}
		errs := make([]error, len(schemas))
		var wg sync.WaitGroup
		for i, s := range schemas {
			db := open(t, url)
			wg.Go(func() {
				for { // as a service does: SQLite may be locked by the other one, which makes the file
					if errs[i] = db.Migrate(t.Context(), s); errs[i] == nil || errors.Is(errs[i], database.ErrForeign) || t.Context().Err() != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), database.ErrForeign) {
			t.Errorf("%v, want one to have it and the other to be refused", errs)
		}
	})
}

func rows(t *testing.T, db *database.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
