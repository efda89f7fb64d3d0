package booking

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// A door that is not open yet says so, with a key too, whose table may not be
// there yet.
func TestStartingIsNotDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.refused(503, TypeStarting)
		r.do(http.MethodPost, "/lab/resume", "")
		r.refused(503, TypeStarting)
		r.refused(503, TypeStarting, "Idempotency-Key: k")
		if w := r.do(http.MethodPost, "/lab/reset", ""); w.Code != http.StatusConflict { // nobody knows yet what runs
			t.Errorf("reset: %d %s", w.Code, w.Body)
		}
		r.door.Drain(true)
		r.refused(503, TypeDraining)
		r.door.Drain(false)
		r.run()
		if w := r.post(t.Context(), 5, "Idempotency-Key: k"); w.Code != http.StatusAccepted {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if s := decode[Stats](t, r.do(http.MethodGet, "/stats", "")); s.Unavailable != 4 || s.Accepted != 1 {
			t.Errorf("%+v", s)
		}
	})
}
