package inproc

import (
	"maps"
	"time"
)

// Why a message was dead-lettered, in RabbitMQ's words.
const (
	reasonDeliveryLimit = "delivery_limit"
	reasonExpired       = "expired"
)

// deadLetter moves e, which is in no list any more, to the queue's dead-letter
// exchange. Without one it is dropped, as on RabbitMQ. This waits for no room:
// what was confirmed must find a place.
func (q *queue) deadLetter(e *entry, reason string) {
	if q.DeadLetterExchange == "" {
		q.server.release(e.weight)
		return
	}
	key := q.DeadLetterKey
	if key == "" {
		key = e.key
	}
	targets, err := q.server.lookUp(q.DeadLetterExchange, key)
	if err != nil {
		e.reason = reason
		q.stuck = append(q.stuck, e)
		return
	}
	m := e.Message
	m.Headers = withDeath(e, q.Name, reason)
	for _, target := range targets {
		target.enqueue(m, q.DeadLetterExchange, key)
	}
	q.server.show(q.DeadLetterExchange, key, m)
	q.server.release(e.weight)
}

// deadLetterStuck tries again what had nowhere to go, as the topology has changed.
func (q *queue) deadLetterStuck() {
	stuck := q.stuck
	q.stuck = nil
	for _, e := range stuck {
		q.deadLetter(e, e.reason)
	}
}

// withDeath is e's headers with its death in them: one x-death entry for each
// queue and reason, the latest first, and what the first one was.
func withDeath(e *entry, queue, reason string) map[string]any {
	headers := maps.Clone(e.Headers)
	old, _ := headers["x-death"].([]any)
	count := int64(1)
	var others []any
	for _, d := range old {
		death, _ := d.(map[string]any)
		if death["queue"] == queue && death["reason"] == reason {
			before, _ := death["count"].(int64)
			count += before
		} else {
			others = append(others, d)
		}
	}
	headers["x-death"] = append([]any{map[string]any{
		"count": count, "reason": reason, "queue": queue, "time": seconds(time.Now()),
		"exchange": e.exchange, "routing-keys": []any{e.key},
	}}, others...)
	if _, ok := headers["x-first-death-queue"]; !ok {
		headers["x-first-death-queue"] = queue
		headers["x-first-death-reason"] = reason
		headers["x-first-death-exchange"] = e.exchange
	}
	return headers
}
