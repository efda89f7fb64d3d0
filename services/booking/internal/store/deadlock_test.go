package store

import (
	"context"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"boxoffice/internal/database"
	"boxoffice/internal/testserver"
	"boxoffice/services/booking/internal/row"
)

// Two replicas settle the same bookings, in opposite order. In a table that is
// large enough for PostgreSQL to go by the index, that order is the locks'.
func TestSettlingInOppositeOrderDoesNotDeadlock(t *testing.T) {
	const batches, size = 40, 64
	url := testserver.SharedPostgres(t).Database(t, "booking")
	a, b := openStore(t, url, "a"), openStore(t, url, "b")
	_, err := a.db.ExecContext(t.Context(), `
		INSERT INTO bookings (id, seat, customer, amount, status, instance, trace_id, trace_context, created_at, updated_at)
		SELECT gen_random_uuid(), n, 'olena', 45000, 'row.Pending', 'a', '', '{}', 0, 0 FROM generate_series(1, 50000) AS n`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.ExecContext(t.Context(), `ANALYZE bookings`); err != nil {
		t.Fatal(err)
	}
	ids, err := database.Query(t.Context(), a.db, scanID, `SELECT id FROM bookings ORDER BY random() LIMIT $1`, batches*size)
	if err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(ids, size) {
		outcomes := make([]row.Outcome, len(some))
		for i, id := range some {
			outcomes[i] = row.Outcome{ID: id, Status: row.Confirmed}
		}
		reversed := slices.Clone(outcomes)
		slices.Reverse(reversed)
		var both errgroup.Group
		for s, outcomes := range map[*Store][]row.Outcome{a: outcomes, b: reversed} {
			both.Go(func() error {
				_, err := s.settleAll(context.WithoutCancel(t.Context()), outcomes)
				return err
			})
		}
		if err := both.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
