package seats

import (
	"testing"

	"boxoffice/internal/lab"
)

// careless is a replica with a safety off.
func careless(t *testing.T, url string, off lab.Unsafe) replica {
	t.Helper()
	r := newReplica(t, url)
	r.release = r.store.unsafely(off)
	return r
}

func TestNoTombstone(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := careless(t, url, lab.NoTombstone)
		early, late, turnedDown := newID(), newID(), newID()
		r.expect(t, failed(early, 5), released(early, 5))
		r.expect(t, created(early, 5), reserved(early, 5)) // the harm
		r.expect(t, created(turnedDown, 5), rejected(turnedDown, 5))
		r.expect(t, failed(turnedDown, 5), nil)
		r.expect(t, created(late, 7), reserved(late, 7))
		r.expect(t, failed(late, 7), released(late, 7))
		r.expect(t, created(late, 7), reserved(late, 7)) // the harm
	})
}

func TestNoOwnerCheck(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := careless(t, url, lab.NoOwnerCheck)
		ivan, maria := newID(), newID()
		r.expect(t, created(ivan, 7), reserved(ivan, 7))
		r.expect(t, failed(ivan, 7), released(ivan, 7))
		r.expect(t, created(maria, 7), reserved(maria, 7))
		r.expect(t, failed(ivan, 7), released(ivan, 7))
		if row := r.row(t, maria); row.Status != Released { // the harm
			t.Errorf("maria's reservation is %s", row.Status)
		}
	})
}

// What is not about seats changes nothing here.
func TestOtherSafeties(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		for _, off := range []lab.Unsafe{"", lab.NoConfirm, lab.AckFirst, lab.RequeueNow} {
			r := careless(t, url, off)
			id := newID()
			r.expect(t, failed(id, 5), released(id, 5))
			r.expect(t, created(id, 5), released(id, 5))
		}
	})
}
