package seats

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"boxoffice/internal/participant/participanttest"
)

func (r replica) reset(t *testing.T) *httptest.ResponseRecorder {
	t.Helper()
	return r.post(t, "/lab/reset")
}

func (r replica) post(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
	return w
}

func TestReset(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := prepared(t, newService(t, url, participanttest.Deaf{}, true))
		kept, gone := newID(), newID()
		r.expect(t, created(kept, 5), reserved(kept, 5))
		for query, code := range map[string]int{"?check=true": http.StatusNoContent, "?check=1": http.StatusBadRequest} {
			if w := r.post(t, "/lab/reset"+query); w.Code != code { // and nothing is forgotten
				t.Errorf("%s: %d %s", query, w.Code, w.Body)
			}
		}
		r.expect(t, failed(gone, 7), released(gone, 7))
		if w := r.reset(t); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		r.expectGet(t, "/seats", `{"total":10,"free":10,"held":[]}`)
		r.expectGet(t, "/reservations", `{"reservations":[]}`)
		next := newID()
		r.expect(t, created(next, 5), reserved(next, 5))

		if w := newReplica(t, url).reset(t); w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("without the lab: %d %s", w.Code, w.Body)
		}
		r.expectGet(t, "/seats", `{"total":10,"free":9,"held":[{"seat":5,"bookingId":"`+next.String()+`"}]}`)
		if err := r.store.db.Close(); err != nil {
			t.Fatal(err)
		}
		if w := r.reset(t); w.Code != http.StatusServiceUnavailable {
			t.Errorf("without a store: %d %s", w.Code, w.Body)
		}
	})
}
