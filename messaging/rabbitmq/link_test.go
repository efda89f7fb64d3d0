package rabbitmq_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// What the broker says of who may not come in, and of who may come later.
func TestRefused(t *testing.T) {
	f := newFixture(t)
	full := newFixture(t)
	full.MaxConnections(0)
	for name, c := range map[string]struct {
		url  string
		want bool
	}{
		"wrong password":  {rabbitmqtest.AsUser(t, f.URL, "guest", "hush"), true},
		"no such user":    {rabbitmqtest.AsUser(t, f.URL, "nobody", "guest"), true},
		"no virtual host": {f.URL + "-none", true},
		"too many":        {full.URL, false},
		"nobody listens":  {"amqp://guest:guest@127.0.0.1:1/", false},
	} {
		b := rabbitmqtest.Open(t, c.url, rabbitmq.Options{})
		for !strings.Contains(fmt.Sprint(b.Ready()), "unreachable") || strings.Contains(b.Ready().Error(), "no answer yet") {
			if f.Ctx.Err() != nil {
				t.Fatalf("%s: %v", name, b.Ready())
			}
			f.Pause()
		}
		if err := b.Ready(); rabbitmq.Refused(err) != c.want {
			t.Errorf("%s: %v counts as refused: %t", name, err, !c.want)
		}
	}
	for _, err := range []error{nil, errors.New("EOF"), amqp.ErrClosed, &amqp.Error{Code: amqp.ConnectionForced, Server: true}} {
		if rabbitmq.Refused(err) {
			t.Errorf("%v counts as refused", err)
		}
	}
}
