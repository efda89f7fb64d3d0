package database_test

import (
	"math"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

func TestTableCarriesEveryType(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		exec(t, db, `CREATE TABLE t (id UUID PRIMARY KEY, n BIGINT NOT NULL, maybe_n BIGINT, s TEXT NOT NULL, maybe_s TEXT, b BOOLEAN NOT NULL)`)
		type row struct {
			id     uuid.UUID
			n      int64
			maybeN *int64
			s      string
			maybeS *string
			b      bool
		}
		seven, word := int64(7), "слово"
		want := []row{
			{uuid.UUID{1}, math.MaxInt64, &seven, `quote ' " \ {a,b} NULL`, &word, true},
			{uuid.UUID{2}, math.MinInt64, nil, "", nil, false},
			// In an exponent's shape: a column of type UUID must not take it for a number.
			{uuid.MustParse("11111111-1111-1111-1111-1e1111111111"), 0, nil, "12e3", &word, true},
		}
		var (
			ids    []uuid.UUID
			ns     []int64
			maybeN []*int64
			ss     []string
			maybeS []*string
			bs     []bool
		)
		for _, r := range want {
			ids, ns, maybeN = append(ids, r.id), append(ns, r.n), append(maybeN, r.maybeN)
			ss, maybeS, bs = append(ss, r.s), append(maybeS, r.maybeS), append(bs, r.b)
		}
		from, args := db.Table(database.Col("id", ids), database.Col("n", ns), database.Col("maybe_n", maybeN),
			database.Col("s", ss), database.Col("maybe_s", maybeS), database.Col("b", bs))
		insert := `INSERT INTO t (id, n, maybe_n, s, maybe_s, b) SELECT id, n, maybe_n, s, maybe_s, b FROM ` + from +
			` WHERE true ORDER BY id ON CONFLICT (id) DO NOTHING`
		for range 2 {
			exec(t, db, insert, args...)
		}
		rows, err := db.QueryContext(t.Context(), `SELECT id, n, maybe_n, s, maybe_s, b FROM t ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		n := 0
		for ; rows.Next(); n++ {
			var got row
			if err := rows.Scan(&got.id, &got.n, &got.maybeN, &got.s, &got.maybeS, &got.b); err != nil {
				t.Fatal(err)
			}
			w := want[n]
			if got.id != w.id || got.n != w.n || got.s != w.s || got.b != w.b || !same(got.maybeN, w.maybeN) || !same(got.maybeS, w.maybeS) {
				t.Errorf("row %d is %+v, want %+v", n, got, w)
			}
		}
		if err := rows.Err(); err != nil || n != len(want) {
			t.Errorf("%d rows, want %d (%v)", n, len(want), err)
		}
	})
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func TestTableFurtherArguments(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		db := open(t, url)
		from, args := db.Table(database.Col("n", []int64{1, 2, 3}))
		if len(args) != 1 {
			t.Fatalf("%d arguments", len(args))
		}
		var sum int64
		if err := db.QueryRowContext(t.Context(), `SELECT sum(n) FROM `+from+` WHERE n > $2`, append(args, 1)...).Scan(&sum); err != nil || sum != 5 {
			t.Errorf("sum %d (%v), want 5", sum, err)
		}
	})
}

func TestTableColumnsOfUnequalLengthPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic: PostgreSQL would have filled the shorter column with NULL")
		}
	}()
	database.SQLite.Table(database.Col("a", []int64{1}), database.Col("b", []string{}))
}
