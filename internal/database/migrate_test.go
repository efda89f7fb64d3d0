package database_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
)

// schema is that of the owner "own", whose databases have the table a.
func schema(files ...string) database.Schema {
	fsys := fstest.MapFS{}
	for _, f := range files {
		name, sql, _ := strings.Cut(f, ": ")
		fsys[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)}
	}
	return database.Schema{Owner: "own", Files: fsys, Others: []string{"other"}}
}

const (
	first  = "00001_first.sql: CREATE TABLE a (id UUID PRIMARY KEY, n BIGINT NOT NULL);"
	second = "00002_second.sql: ALTER TABLE a ADD COLUMN s TEXT NOT NULL DEFAULT '';"
)

func TestMigrate(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		for _, files := range [][]string{{first}, {first}, {first, second}} { // new, again, forward
			if err := db.Migrate(t.Context(), schema(files...)); err != nil {
				t.Fatal(err)
			}
		}
		exec(t, db, `INSERT INTO a (id, n, s) VALUES ('00000000-0000-0000-0000-000000000001', 1, 'x')`)
		if err := db.Migrate(t.Context(), schema(first)); !errors.Is(err, database.ErrNewerSchema) {
			t.Errorf("an older program on a newer schema: %v, want ErrNewerSchema", err)
		}
	})
}

func TestMigrateFailsWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		broken := "00001_first.sql: CREATE TABLE b (n BIGINT); CREATE TABLE nonsense (;"
		if err := db.Migrate(t.Context(), schema(broken)); err == nil {
			t.Fatal("a broken migration succeeded")
		}
		exec(t, db, `CREATE TABLE b (n BIGINT)`) // it left no half behind
	})
}

func TestMigrateFromReplicasAtOnce(t *testing.T) {
	url := testserver.SharedPostgres(t).Database(t, "replicas")
	var wg sync.WaitGroup
	for range 3 {
		db := open(t, url)
		wg.Go(func() {
			if err := db.Migrate(t.Context(), schema(first, second)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
