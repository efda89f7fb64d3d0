package booking

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/httpserver"
)

// GET /stats, GET /ready and the metrics say the same.
func TestStatsAgreeWithReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testConfig())
		r.run()
		synctest.Wait()
		for _, away := range []bool{false, true, false} {
			if away {
				r.server.Stop()
			} else {
				r.server.Start()
			}
			time.Sleep(time.Minute)
			var stats Stats
			body := r.do(http.MethodGet, "/stats", "").Body.String()
			if err := json.Unmarshal([]byte(body), &stats); err != nil {
				t.Fatal(err)
			}
			ready := r.do(http.MethodGet, "/ready", "")
			metrics := r.do(http.MethodGet, "/metrics", "").Body.String()
			var p struct{ Errors []httpserver.FieldError } // none, if it is ready
			if err := json.Unmarshal(ready.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range p.Errors {
				names = append(names, e.Field)
				if !strings.Contains(metrics, `boxoffice_ready{check="`+e.Field+`"`) {
					t.Errorf("no metric of %s", e.Field)
				}
			}
			if !slices.Equal(names, stats.NotReady) || slices.Contains(names, "broker") != away || (stats.Broker != "ok") != away ||
				(ready.Code != http.StatusOK) != away || strings.Contains(body, "notReady") != away {
				t.Errorf("away: %t\n%s\n%s", away, body, ready.Body)
			}
		}
	})
}
