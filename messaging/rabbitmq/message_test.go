package rabbitmq_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

// What the client cannot encode would end the connection, and with it
// everything that is in flight on it.
func TestUnfitMessagesAreErrors(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	f.publish(b, "before")
	before := f.connections()
	long := strings.Repeat("x", 256)
	deep := map[string]any{}
	for range 100 {
		deep = map[string]any{"deeper": deep}
	}
	unfit := map[string]messaging.Message{
		"uint64":      {Headers: map[string]any{"h": uint64(1)}},
		"struct":      {Headers: map[string]any{"h": struct{}{}}},
		"channel":     {Headers: map[string]any{"h": []any{make(chan int)}}},
		"nested":      {Headers: map[string]any{"h": map[string]any{"h": uint(1)}}},
		"deep":        {Headers: deep},
		"long name":   {Headers: map[string]any{long: "v"}},
		"large":       {Headers: map[string]any{"h": strings.Repeat("x", 128<<10)}},
		"long id":     {ID: long},
		"long type":   {Type: long},
		"long app":    {AppID: long},
		"long corr":   {CorrelationID: long},
		"long c-type": {ContentType: long},
	}
	for name, m := range unfit {
		if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, m); err == nil {
			f.Errorf("%s: no error", name)
		}
	}
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), long, messaging.Message{}); err == nil {
		f.Error("long key: no error")
	}
	f.publish(b, "after")
	if after := f.connections(); after != before {
		f.Errorf("the connections were\n%s now they are\n%s", before, after)
	}
	f.ready(f.channel(), 2)
}

// connections tells the connections of the virtual host apart.
func (f *fixture) connections() string {
	f.Helper()
	var mine []string
	for line := range strings.Lines(f.server.Ctl(f.T, "-q", "list_connections", "vhost", "peer_port")) {
		if strings.HasPrefix(line, f.vhost+"\t") {
			mine = append(mine, line)
		}
	}
	slices.Sort(mine)
	return strings.Join(mine, "")
}

func TestHeadersKeepTheirValue(t *testing.T) {
	f := newFixture(t)
	b := f.declared(rabbitmq.Options{})
	sent := map[string]any{
		"int":   math.MaxInt64, // the client itself would cut it to 32 bits
		"large": strings.Repeat("x", 100<<10),
		"map":   map[string]any{"k": "v"},
	}
	if err := b.Publish(f.ctx, messagingtest.Shop().EventsExchange(), key, messaging.Message{Headers: sent}); err != nil {
		f.Fatal(err)
	}
	if len(sent) != 3 {
		f.Errorf("publishing changed the headers: %v", sent)
	}
	d, ok, err := f.channel().Get(queue, true)
	if err != nil || !ok {
		f.Fatal(ok, err)
	}
	if d.Headers["int"] != int64(math.MaxInt64) || len(d.Headers["large"].(string)) != 100<<10 {
		f.Errorf("int came as %v", d.Headers["int"])
	}
	if d.DeliveryMode != 2 {
		f.Errorf("delivery mode %d, want persistent", d.DeliveryMode)
	}
}
