package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// With Jaeger, the trace is a link.
func TestBookSaysWhereItsTraceIs(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"b1","seat":1,"customer":"a","status":"Confirmed","traceId":"t1"}`)
	}))
	defer service.Close()
	book := []string{"book", "--seat=1", "--amount=1", "--customer=a", "--url", service.URL}
	for want, variables := range map[string][]string{
		"trace t1\n": nil,
		"trace http://localhost:16686/trace/t1\n": {"JAEGER_URL=http://localhost:16686/"},
	} {
		c := start(t, variables, book...)
		if code := c.exit(); code != 0 {
			t.Fatalf("exit %d, said %s", code, c.err)
		}
		c.out.find(t, "^"+want)
	}
}
