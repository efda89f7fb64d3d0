package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"boxoffice/internal/config"
)

// management is RabbitMQ's API with these queues, as it shows them at each look.
func management(t *testing.T, looks ...map[string]int) string {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); r.URL.EscapedPath() != "/api/queues/lab%2F1" || user != "u" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		type queue struct {
			Name     string `json:"name"`
			Messages *int   `json:"messages,omitempty"`
		}
		var all []queue
		for name, depth := range looks[min(int(n.Add(1)), len(looks))-1] {
			if depth < 0 { // not known
				all = append(all, queue{name, nil})
			} else {
				all = append(all, queue{name, &depth})
			}
		}
		_ = json.NewEncoder(w).Encode(all)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http://", "http://u:secret@", 1)
}

func TestVerifyQueues(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.stand(t)
	empty := map[string]int{"seats.BookingCreated": 0, "booking.wait.1000ms": 0, "others": 7, "seats.BookingCreated.dead": 0}
	left := map[string]int{"seats.BookingCreated": 2, "payments.wait.1000ms": 1, "booking.PaymentFailed.dead": 3}
	for name, test := range map[string]struct {
		url  string
		code int
		want string // of what is printed or said
	}{
		"old figures": {management(t, left, empty), 0, `5  .* OK\nparked: not listed: amqp://127\.0\.0\.1:1/.*refused\nread`},
		"left":        {management(t, empty, left), exitFailed, `5  .* 2 violations\n     1 message is left in payments.wait.1000ms\n     2 messages are left in seats.BookingCreated\nparked: 3 in booking.PaymentFailed.dead\nparked: not listed: .*\nread`},
		"no figures":  {management(t, map[string]int{"seats.BookingCreated": -1}), 0, `5  .* not checked\n     what is in the queues is not known: .*no figures of seats.BookingCreated\n`},
		"new figures": {management(t, map[string]int{"seats.BookingCreated": -1}, empty), 0, `5  .* OK\nparked: not`},
		"wrong user":  {strings.Replace(management(t, empty), "secret", "wrong", 1), exitUnanswered, `boxoffice: the management API does not answer: .*401`},
		"no queues":   {management(t, map[string]int{"others": 1}), exitUnanswered, `knows none of boxoffice in virtual host "lab/1"`},
		"away":        {"http://u:hush@127.0.0.1:1", exitUnanswered, `boxoffice: the management API does not answer: .*refused`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := s.verify(t, "--management-url", test.url, "--broker-url=amqp://127.0.0.1:1/lab%2F1")
			if code != test.code || !regexp.MustCompile(test.want).MatchString(stdout+stderr) || strings.Contains(stdout+stderr, "hush") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	t.Run("guessed", func(t *testing.T) {
		t.Parallel()
		code, stdout, stderr := s.verify(t, "--broker-url=amqp://u:hush@127.0.0.1:1/")
		if code != 0 || !regexp.MustCompile(`5  .* not checked\n     what is in the queues is not known: .*127\.0\.0\.1:10001.*--management-url`).MatchString(stdout) || strings.Contains(stdout, "hush") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
	})
}

func TestManagementOf(t *testing.T) {
	t.Parallel()
	for broker, want := range map[config.BrokerURL][2]string{
		"amqp://h":                    {"http://guest:guest@h:15672", "/"},
		"amqp://u:p@h:5672/":          {"http://u:p@h:15672", "/"},
		"amqp://h:7000/lab":           {"http://guest:guest@h:17000", "lab"},
		"amqps://u:p@[::1]/a%2Fb":     {"https://u:p@[::1]:15671", "a/b"},
		"amqps://u:p@broker:5671/%2f": {"https://u:p@broker:15671", "/"},
	} {
		if address, vhost := managementOf(broker); address != want[0] || vhost != want[1] {
			t.Errorf("%s: %s %q", string(broker), address, vhost)
		}
	}
}

// The rows are read once the queues are empty: what is in one may change them.
func TestVerifyReadsTheRowsAfterTheQueues(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.stand(t)
	var looks atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.charged.Load() > 0 {
			t.Error("the rows were read while a message was in a queue")
		}
		depth := 1
		if looks.Add(1) > 2 {
			depth = 0
		}
		fmt.Fprintf(w, `[{"name":"payments.SeatReserved","messages":%d}]`, depth)
	}))
	defer api.Close()
	code, stdout, stderr := s.verify(t, "--management-url", api.URL, "--timeout=30s")
	if code != 0 || s.charged.Load() == 0 || !strings.Contains(stderr, "waiting for the messages that are left: 1 in payments.SeatReserved\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}
