package database_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"

	"boxoffice/internal/database"
)

// othersSchema is that of the service "other", whose databases have the table b.
func othersSchema() database.Schema {
	s := schema("00001_b.sql: CREATE TABLE b (n BIGINT);")
	s.Owner = "other"
	return s
}

// migrateAsBefore does what programs did that noted the migrations of every
// service in one table.
func migrateAsBefore(t *testing.T, db *database.DB, s database.Schema) {
	t.Helper()
	dialect := goose.DialectSQLite3
	if db.Dialect == database.PostgreSQL {
		dialect = goose.DialectPostgres
	}
	p, err := goose.NewProvider(dialect, db.DB, s.Files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, db *database.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestADatabaseOfAnEarlierProgramIsTakenOver(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		migrateAsBefore(t, db, schema(first))
		exec(t, db, `INSERT INTO a (id, n) VALUES ('00000000-0000-0000-0000-000000000001', 1)`)
		for _, files := range [][]string{{first}, {first, second}, {first, second}} {
			if err := db.Migrate(t.Context(), schema(files...)); err != nil {
				t.Fatal(err)
			}
		}
		if n := rows(t, db, "a"); n != 1 {
			t.Errorf("%d rows are left of 1", n)
		}
		if n := rows(t, db, "own_schema"); n != 3 { // 0, as goose begins, and each migration once
			t.Errorf("%d versions are noted", n)
		}
		if err := db.Migrate(t.Context(), schema(first)); !errors.Is(err, database.ErrNewerSchema) {
			t.Errorf("an older program: %v, want ErrNewerSchema", err)
		}
	})
}

func TestANewerSchemaOfAnEarlierProgramIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		migrateAsBefore(t, db, schema(first, second))
		if err := db.Migrate(t.Context(), schema(first)); !errors.Is(err, database.ErrNewerSchema) {
			t.Errorf("%v, want ErrNewerSchema", err)
		}
	})
}

// Whoever else noted his migrations there keeps his table.
func TestVersionsOfAStrangerStayHis(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		migrateAsBefore(t, db, schema("00007_x.sql: CREATE TABLE x (n BIGINT);"))
		if err := db.Migrate(t.Context(), schema(first)); err != nil {
			t.Fatal(err)
		}
		if n := rows(t, db, "goose_db_version"); n != 2 {
			t.Errorf("%d versions of the stranger are left", n)
		}
	})
}

func TestADatabaseOfAnotherServiceIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *database.DB){
		"migrated": func(t *testing.T, db *database.DB) {
			if err := db.Migrate(t.Context(), othersSchema()); err != nil {
				t.Fatal(err)
			}
		},
		"by an earlier program": func(t *testing.T, db *database.DB) { migrateAsBefore(t, db, othersSchema()) },
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
