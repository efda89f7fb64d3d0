package seats

import (
	"testing"

	"boxoffice/internal/testserver"
	"boxoffice/messaging"
)

func TestStoreDownHoldsAndWorksAgain(t *testing.T) {
	server := testserver.PostgreSQL(t)
	r := newReplica(t, server.Database(t, "seats"))
	before, during := newID(), newID()
	r.expect(t, created(before, 1), reserved(before, 1))
	server.Kill(t)
	for range 3 {
		for _, e := range []messaging.Event{created(during, 2), failed(before, 1)} {
			if _, err := r.handle(t.Context(), e); !messaging.IsUnavailable(err) {
				t.Fatalf("%T with the store down: %v, want Unavailable", e, err)
			}
		}
	}
	server.Start(t)
	r.expect(t, created(before, 1), reserved(before, 1))
	r.expect(t, created(during, 2), reserved(during, 2))
}

func TestMissingTableIsNotTheMessagesFault(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		if _, err := r.store.db.ExecContext(t.Context(), `DROP TABLE reservations`); err != nil {
			t.Fatal(err)
		}
		if _, err := r.handle(t.Context(), created(newID(), 1)); !messaging.IsUnavailable(err) {
			t.Errorf("got %v, want Unavailable", err)
		}
	})
}

func TestStoppedStoreIsNotTheMessagesFault(t *testing.T) {
	r := newReplica(t, "sqlite:")
	r.store.close()
	if _, err := r.handle(t.Context(), created(newID(), 1)); !messaging.IsUnavailable(err) {
		t.Errorf("got %v, want Unavailable", err)
	}
}
