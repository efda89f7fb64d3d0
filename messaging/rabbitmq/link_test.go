package rabbitmq_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging/rabbitmq"
)

// What the broker says of who may not come in, and of who may come later.
func TestRefused(t *testing.T) {
	f := newFixture(t)
	full := newFixture(t)
	full.server.Ctl(t, "set_vhost_limits", "-p", full.vhost, `{"max-connections": 0}`)
	for name, c := range map[string]struct {
		url  string
		want bool
	}{
		"wrong password":  {as(t, f.url, "guest", "hush"), true},
		"no such user":    {as(t, f.url, "nobody", "guest"), true},
		"no virtual host": {f.url + "-none", true},
		"too many":        {full.url, false},
		"nobody listens":  {"amqp://guest:guest@127.0.0.1:1/", false},
	} {
		b := open(t, c.url, rabbitmq.Options{})
		for !strings.Contains(fmt.Sprint(b.Ready()), "unreachable") || strings.Contains(b.Ready().Error(), "no answer yet") {
			if f.ctx.Err() != nil {
				t.Fatalf("%s: %v", name, b.Ready())
			}
			f.pause()
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
