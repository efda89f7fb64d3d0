package seats

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
)

func (r replica) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return participanttest.Get(t, r.Handler(), path)
}

func (r replica) expectGet(t *testing.T, path, want string) {
	t.Helper()
	if code, got := r.get(t, path); code != http.StatusOK || got != want {
		t.Errorf("GET %s\n got %d %s\nwant 200 %s", path, code, got, want)
	}
}

// sampleIDs are in order, as UUIDv7 are.
var sampleIDs = []uuid.UUID{
	uuid.MustParse("01990000-0000-7000-8000-000000000001"),
	uuid.MustParse("01990000-0000-7000-8000-000000000002"),
	uuid.MustParse("01990000-0000-7000-8000-000000000003"),
	uuid.MustParse("01990000-0000-7000-8000-000000000004"),
}

func TestHTTP(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		r.expectGet(t, "/seats", `{"total":10,"free":10,"held":[]}`)
		r.expectGet(t, "/reservations", `{"reservations":[]}`)

		r.hand(t, created(sampleIDs[0], 7))
		r.hand(t, created(sampleIDs[1], 7))
		r.hand(t, created(sampleIDs[2], 3))
		r.hand(t, failed(sampleIDs[3], 4))
		one := `{"bookingId":"01990000-0000-7000-8000-000000000001","seat":7,"amount":450.5,"status":"reserved"}`
		two := `{"bookingId":"01990000-0000-7000-8000-000000000002","seat":7,"amount":450.5,"status":"rejected","reason":"seat is taken or does not exist"}`
		three := `{"bookingId":"01990000-0000-7000-8000-000000000003","seat":3,"amount":450.5,"status":"reserved"}`
		four := `{"bookingId":"01990000-0000-7000-8000-000000000004","seat":4,"status":"released","reason":"insufficient funds"}`
		three3 := `{"seat":3,"bookingId":"01990000-0000-7000-8000-000000000003"}`
		seven := `{"seat":7,"bookingId":"01990000-0000-7000-8000-000000000001"}`

		r.expectGet(t, "/seats", `{"total":10,"free":8,"held":[`+three3+`,`+seven+`]}`)
		r.expectGet(t, "/seats?limit=2", `{"total":10,"free":8,"held":[`+three3+`,`+seven+`]}`)
		r.expectGet(t, "/seats?limit=1", `{"total":10,"free":8,"held":[`+three3+`],"next":"3"}`)
		r.expectGet(t, "/seats?limit=1&after=3", `{"total":10,"free":8,"held":[`+seven+`]}`)
		r.expectGet(t, "/seats?after=7", `{"total":10,"free":8,"held":[]}`)

		r.expectGet(t, "/reservations", `{"reservations":[`+strings.Join([]string{one, two, three, four}, ",")+`]}`)
		r.expectGet(t, "/reservations?limit=2", `{"reservations":[`+one+`,`+two+`],"next":"`+sampleIDs[1].String()+`"}`)
		r.expectGet(t, "/reservations?limit=2&after="+sampleIDs[1].String(), `{"reservations":[`+three+`,`+four+`]}`)
		r.expectGet(t, "/reservations?after="+sampleIDs[3].String(), `{"reservations":[]}`)
		r.expectGet(t, "/reservations/"+sampleIDs[3].String(), four)
	})
}

func TestHTTPBadInput(t *testing.T) {
	r := newReplica(t, "sqlite:")
	for path, want := range map[string]struct {
		status    int
		parameter string
	}{
		"/seats?limit=0":                          {400, "limit"},
		"/seats?limit=1001":                       {400, "limit"},
		"/seats?limit=ten":                        {400, "limit"},
		"/seats?after=-1":                         {400, "after"},
		"/seats?after=99999999999999999999":       {400, "after"},
		"/seats?after=" + sampleIDs[0].String():   {400, "after"},
		"/reservations?limit=1001":                {400, "limit"},
		"/reservations?limit=1&limit=2":           {400, "limit"},
		"/reservations?after=7":                   {400, "after"},
		"/reservations/7":                         {404, ""},
		"/reservations/" + sampleIDs[0].String():  {404, ""},
		"/reservations/" + strings.Repeat("x", 9): {404, ""},
		"/nowhere": {404, ""},
	} {
		code, body := r.get(t, path)
		var problem struct {
			Status int
			Errors []struct{ Field string }
		}
		if err := json.Unmarshal([]byte(body), &problem); err != nil {
			t.Errorf("GET %s: %v: %s", path, err, body)
		}
		named := ""
		if len(problem.Errors) == 1 {
			named = problem.Errors[0].Field
		}
		if code != want.status || problem.Status != code || named != want.parameter {
			t.Errorf("GET %s: %d %s, want %d naming %q", path, code, body, want.status, want.parameter)
		}
	}
}

func TestHTTPStoreDown(t *testing.T) {
	r := newReplica(t, "sqlite:")
	if err := r.store.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/seats", "/reservations", "/reservations/" + sampleIDs[0].String(), "/ready"} {
		if code, body := r.get(t, path); code != http.StatusServiceUnavailable || strings.Contains(body, "sql") && path != "/ready" {
			t.Errorf("GET %s: %d %s, want 503 without internals", path, code, body)
		}
	}
}

// Seats and reservations add up while they change.
func TestHallAddsUpAtEveryMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for seat := 1; seat <= total; seat++ {
				id := newID()
				for _, e := range []messaging.Event{created(id, seat), failed(id, seat), created(newID(), seat)} {
					if _, err := r.handle(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
			}
		}()
		for busy := true; busy; {
			select {
			case <-done:
				busy = false
			default:
			}
			free, held, err := r.store.hall(t.Context(), 0, total)
			if err != nil || free+len(held) != total {
				t.Fatalf("%d free, %d held (%v)", free, len(held), err)
			}
		}
		if _, held, _ := r.store.hall(t.Context(), 0, total); len(held) != total {
			t.Error(fmt.Sprint(len(held), " seats are held at the end"))
		}
	})
}
