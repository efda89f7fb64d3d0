package payments

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"boxoffice/internal/participant/participanttest"

	"github.com/google/uuid"
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
}

func TestHTTP(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		r := newReplica(t, url, plain())
		r.expectGet(t, "/payments", `{"payments":[]}`)
		r.expect(t, seatReserved(sampleIDs[1], tooMuch), failed(sampleIDs[1]))
		r.expect(t, seatReserved(sampleIDs[0], affordable), succeeded(sampleIDs[0]))
		one := `{"bookingId":"01990000-0000-7000-8000-000000000001","amount":450.5,"status":"succeeded","charges":1}`
		two := `{"bookingId":"01990000-0000-7000-8000-000000000002","amount":1000.01,"status":"failed","reason":"insufficient funds","charges":0}`
		r.expectGet(t, "/payments", `{"payments":[`+one+`,`+two+`]}`)
		r.expectGet(t, "/payments?limit=2", `{"payments":[`+one+`,`+two+`]}`)
		r.expectGet(t, "/payments?limit=1", `{"payments":[`+one+`],"next":"`+sampleIDs[0].String()+`"}`)
		r.expectGet(t, "/payments?limit=1&after="+sampleIDs[0].String(), `{"payments":[`+two+`]}`)
		r.expectGet(t, "/payments?after="+sampleIDs[1].String(), `{"payments":[]}`)
		r.expectGet(t, "/payments/"+sampleIDs[1].String(), two)

		charge := `{"bookingId":"01990000-0000-7000-8000-000000000001","amount":450.5}`
		r.expectGet(t, "/charges", `{"charges":[`+charge+`]}`)
		if _, err := r.bank.charge(t.Context(), sampleIDs[2], affordable); err != nil { // and then nobody records it
			t.Fatal(err)
		}
		alone := `{"bookingId":"01990000-0000-7000-8000-000000000003","amount":450.5}`
		r.expectGet(t, "/charges", `{"charges":[`+charge+`,`+alone+`]}`)
		r.expectGet(t, "/charges?limit=1", `{"charges":[`+charge+`],"next":"`+sampleIDs[0].String()+`"}`)
		r.expectGet(t, "/charges?after="+sampleIDs[0].String(), `{"charges":[`+alone+`]}`)
	})
}

func TestHTTPBadInput(t *testing.T) {
	r := newReplica(t, "sqlite:", plain())
	for path, want := range map[string]struct {
		status    int
		parameter string
	}{
		"/payments?limit=0":                  {400, "limit"},
		"/payments?limit=1001":               {400, "limit"},
		"/payments?limit=1.5":                {400, "limit"},
		"/payments?after=7":                  {400, "after"},
		"/charges?limit=0":                   {400, "limit"},
		"/charges?after=x":                   {400, "after"},
		"/payments/7":                        {404, ""},
		"/payments/" + sampleIDs[2].String(): {404, ""},
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
	r := newReplica(t, "sqlite:", plain())
	if err := r.store.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/payments", "/charges", "/payments/" + sampleIDs[0].String(), "/ready"} {
		if code, body := r.get(t, path); code != http.StatusServiceUnavailable || strings.Contains(body, "sql") && path != "/ready" {
			t.Errorf("GET %s: %d %s, want 503 without internals", path, code, body)
		}
	}
}
