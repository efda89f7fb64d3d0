package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"boxoffice/tickets"
)

// FiguresAge is how old the figures of the management API may be: a quorum queue
// tells its own every 5 s, and brokers collect them every 5 s.
const FiguresAge = 12 * time.Second

// ErrNoFigures is the error, wrapped, of a management API that does not know yet
// how many messages a queue has, as after a start of the broker, or never does,
// where it is told to collect nothing.
var ErrNoFigures = errors.New("the management API has no figures")

// Queues are how many messages each queue has, delivered ones included.
type Queues struct {
	Work   map[string]int // and wait queues
	Parked map[string]int // by dead queue
}

// TakeQueues reads the depths of our queues in a virtual host from RabbitMQ's
// management API, whose address may have a user and password. They are up to
// FiguresAge old.
func TakeQueues(ctx context.Context, client *http.Client, management, vhost string) (Queues, error) {
	q := Queues{Work: make(map[string]int), Parked: make(map[string]int)}
	address := strings.TrimRight(management, "/") + "/api/queues/" + url.PathEscape(vhost) + "?columns=name,messages"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return q, fmt.Errorf("read the queues: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return q, fmt.Errorf("read the queues: %w", err) // names the address, without the password
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return q, fmt.Errorf("read the queues of %s: %w", req.URL.Redacted(), err)
	}
	if resp.StatusCode != http.StatusOK {
		return q, fmt.Errorf("read the queues: %s answers %s: %.200s", req.URL.Redacted(), resp.Status, body)
	}
	var found []struct {
		Name     string
		Messages *int
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return q, fmt.Errorf("read the queues of %s: %w", req.URL.Redacted(), err)
	}
	for _, f := range found {
		switch service, _, _ := strings.Cut(f.Name, "."); {
		case service != tickets.Booking && service != tickets.Seats && service != tickets.Payments:
		case f.Messages == nil:
			return q, fmt.Errorf("read the queues: %w of %s", ErrNoFigures, f.Name)
		case strings.HasSuffix(f.Name, ".dead"):
			q.Parked[f.Name] = *f.Messages
		default:
			q.Work[f.Name] = *f.Messages
		}
	}
	if len(q.Work) == 0 {
		return q, fmt.Errorf("read the queues: %s knows none of boxoffice in virtual host %q", req.URL.Redacted(), vhost)
	}
	return q, nil
}

// Left is how many messages are in which work and wait queues; "" if in none.
func (q Queues) Left() string {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(q.Work)) {
		if n := q.Work[name]; n > 0 {
			left = append(left, fmt.Sprintf("%d in %s", n, name))
		}
	}
	return strings.Join(left, ", ")
}
