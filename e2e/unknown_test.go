package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"boxoffice/internal/testserver"
)

// inTime is how long an answer may take while the database hangs: 10 s, and what
// a busy machine adds.
const inTime = 15 * time.Second

// Commits hang. Every client is answered in time, 504 if its booking may be
// stored and 503 if it is not, and so it is when the database goes on.
func TestHangingCommits(t *testing.T) {
	s := newStack(t, quickly...)
	release := testserver.SharedPostgres(t).HangCommits(t)
	const clients = 12
	headers := make([]http.Header, clients)
	codes, bodies, took := make([]int, clients), make([]string, clients), make([]time.Duration, clients)
	var asking sync.WaitGroup
	for i := range clients {
		headers[i] = http.Header{"Content-Type": {"application/json"}}
		if keyed(i) {
			headers[i].Set("Idempotency-Key", fmt.Sprintf("order-%d", i))
		}
		asking.Go(func() {
			began := time.Now()
			codes[i], bodies[i] = s.post(i, headers[i])
			took[i] = time.Since(began)
		})
	}
	asking.Wait()
	release()
	for i, code := range codes {
		t.Logf("client %d, keyed %v: %d after %s", i, keyed(i), code, took[i].Round(time.Millisecond))
		if took[i] > inTime {
			t.Errorf("client %d was answered after %s", i, took[i])
		}
		switch code {
		case http.StatusAccepted, http.StatusServiceUnavailable:
		case http.StatusGatewayTimeout:
			if !strings.Contains(bodies[i], "urn:boxoffice:problem:unknown-outcome") {
				t.Errorf("client %d: %s", i, bodies[i])
			}
		default:
			t.Errorf("client %d: %d %s", i, code, bodies[i])
		}
	}
	if !slices.Contains(codes, http.StatusGatewayTimeout) {
		t.Errorf("no outcome was unknown: %v", codes)
	}
	s.everyPromiseKept(codes)
	for i, code := range codes { // what the answer said to do
		if code == http.StatusGatewayTimeout && keyed(i) {
			eventually(t, "repeat with the same key", func(context.Context) error {
				if code, body := s.post(i, headers[i]); code != http.StatusAccepted { //nolint:contextcheck // it takes the test's own
					return fmt.Errorf("%d %s", code, body)
				}
				return nil
			})
		}
	}
	s.settled()
	s.endWell()
}

// keyed reports whether a client sends an Idempotency-Key: all but every third.
func keyed(client int) bool { return client%3 != 0 }

// post books a seat of its own for a client.
func (s *stack) post(client int, header http.Header) (code int, body string) {
	text := fmt.Sprintf(`{"seat":%d,"customer":"client-%02d","amount":10}`, client+1, client)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.targets.Booking+"/bookings", strings.NewReader(text))
	if err != nil {
		return 0, err.Error()
	}
	req.Header = header.Clone()
	res, err := s.http.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(answer)
}

// everyPromiseKept waits until no booking runs: a client that was told 202 has
// one booking, one that was told 503 has none.
func (s *stack) everyPromiseKept(codes []int) {
	s.t.Helper()
	bookings := s.settled()
	bySeat := map[int]int{}
	for _, b := range bookings {
		bySeat[b.Seat]++
	}
	for i, code := range codes {
		n := bySeat[i+1]
		if n > 1 || code == http.StatusAccepted && n == 0 || code == http.StatusServiceUnavailable && n > 0 {
			s.t.Errorf("client %d was told %d and has %d bookings", i, code, n)
		}
	}
}
