package payments

import (
	"testing"

	"boxoffice/internal/testserver"
	"boxoffice/messaging"
)

func TestStoreDownHoldsAndWorksAgain(t *testing.T) {
	server := testserver.PostgreSQL(t)
	r := newReplica(t, server.Database(t, "payments"), plain())
	before, during := newID(), newID()
	r.expect(t, seatReserved(before, affordable), succeeded(before))
	server.Kill(t)
	for range 3 {
		for _, id := range [][16]byte{before, during} {
			if _, err := r.seatReserved(t.Context(), seatReserved(id, affordable)); !messaging.IsUnavailable(err) {
				t.Fatalf("with the store down: %v, want Unavailable", err)
			}
		}
	}
	server.Start(t)
	for _, id := range [][16]byte{before, during} {
		r.expect(t, seatReserved(id, affordable), succeeded(id))
		r.expectRow(t, id, Succeeded, 1)
	}
}

// Either table may fail on its own; the delivery is held, and then ends with
// one charge.
func TestHalfOfTheStoreDown(t *testing.T) {
	for _, table := range []string{"payments", "bank_ledger"} {
		t.Run(table, func(t *testing.T) {
			onBoth(t, func(t *testing.T, url string) {
				r, id := newReplica(t, url, plain()), newID()
				rename := func(from, to string) {
					t.Helper()
					if _, err := r.store.db.ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
						t.Fatal(err)
					}
				}
				rename(table, "gone")
				if _, err := r.seatReserved(t.Context(), seatReserved(id, affordable)); !messaging.IsUnavailable(err) {
					t.Errorf("without %s: %v, want Unavailable", table, err)
				}
				rename("gone", table)
				r.expect(t, seatReserved(id, affordable), succeeded(id))
				r.expectRow(t, id, Succeeded, 1)
			})
		})
	}
}

func TestStoppedStoreIsNotTheMessagesFault(t *testing.T) {
	r := newReplica(t, "sqlite:", plain())
	r.close()
	if _, err := r.seatReserved(t.Context(), seatReserved(newID(), affordable)); !messaging.IsUnavailable(err) {
		t.Errorf("got %v, want Unavailable", err)
	}
}
