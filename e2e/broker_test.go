package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"boxoffice/internal/testserver"
)

// broker is a virtual host of its own on a RabbitMQ, seen through the
// management API.
type broker struct {
	*testserver.Rabbit
	t     *testing.T
	vhost string
	url   string
	http  *http.Client
}

// vhosts counts up. A name is not used again: where one was deleted and the
// server then killed, RabbitMQ 3.10 fails to declare the same queues again.
var vhosts atomic.Int64

func newBroker(t *testing.T, server *testserver.Rabbit, client *http.Client) *broker {
	t.Helper()
	vhost := fmt.Sprintf("e2e-%d", vhosts.Add(1))
	return &broker{Rabbit: server, t: t, vhost: vhost, url: server.VHost(t, vhost), http: client}
}

// message is one as the management API has it.
type message struct {
	Payload    string     `json:"payload"`
	Encoding   string     `json:"payload_encoding"`
	Properties properties `json:"properties"`
}

type properties struct {
	ID      string         `json:"message_id,omitempty"`
	Type    string         `json:"type,omitempty"`
	Headers map[string]any `json:"headers,omitempty"`
}

// send puts a message straight into a queue.
func (b *broker) send(queue string, p properties, body []byte) {
	b.t.Helper()
	var answer struct{ Routed bool }
	b.call(http.MethodPost, "exchanges", "amq.default/publish", map[string]any{
		"routing_key": queue, "properties": p,
		"payload": base64.StdEncoding.EncodeToString(body), "payload_encoding": "base64",
	}, &answer)
	if !answer.Routed {
		b.t.Fatalf("there is no queue %s", queue)
	}
}

// peek is the messages of a queue that no consumer holds; all stay there.
func (b *broker) peek(queue string) []message {
	b.t.Helper()
	var found []message
	b.call(http.MethodPost, "queues", url.PathEscape(queue)+"/get", map[string]any{
		"count": 1000, "ackmode": "ack_requeue_true", "encoding": "base64", "truncate": 1000,
	}, &found)
	return found
}

// depth is one queue in what depths evaluates.
var depth = regexp.MustCompile(`\{<<"([^"]+)">>,(\d+)\}`)

// depths is how many messages each queue has, with those that a consumer
// holds. It asks the queues themselves: the figures of the management API are up
// to ten seconds old.
func (b *broker) depths() (work, dead map[string]int) {
	b.t.Helper()
	answer := b.Ctl(b.t, "eval", `[begin
		{ok, {_, N}, _} = ra:local_query(amqqueue:get_pid(Q), fun rabbit_fifo:query_messages_total/1),
		{element(4, amqqueue:get_name(Q)), N}
	end || Q <- rabbit_amqqueue:list(<<"`+b.vhost+`">>)].`)
	work, dead = map[string]int{}, map[string]int{}
	for _, found := range depth.FindAllStringSubmatch(answer, -1) {
		n, err := strconv.Atoi(found[2])
		if err != nil {
			b.t.Fatal(err)
		}
		if strings.HasSuffix(found[1], ".dead") {
			dead[found[1]] = n
		} else {
			work[found[1]] = n
		}
	}
	if len(work) == 0 || len(dead) == 0 {
		b.t.Fatalf("these are not our queues: %s", answer)
	}
	return work, dead
}

// call makes one request of the management API about the virtual host.
func (b *broker) call(method, kind, rest string, body, answer any) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
	defer cancel()
	address := strings.TrimSuffix(b.ManagementURL+"/api/"+kind+"/"+url.PathEscape(b.vhost)+"/"+rest, "/")
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		b.t.Fatalf("%s %s: %s %v %.500s", method, address, res.Status, err, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		b.t.Fatalf("%s %s: %v %.500s", method, address, err, text)
	}
}
