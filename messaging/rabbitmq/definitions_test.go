package rabbitmq_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"boxoffice/messaging"
	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
)

func passwords() map[string]string {
	p := map[string]string{}
	for _, user := range rabbitmq.Users(messagingtest.Shop()) {
		p[user] = user + "-secret"
	}
	return p
}

func TestDefinitionsNeedEveryPassword(t *testing.T) {
	for _, user := range rabbitmq.Users(messagingtest.Shop()) {
		p := passwords()
		delete(p, user)
		if _, err := rabbitmq.Definitions(shop(), p); err == nil || !strings.Contains(err.Error(), user) {
			t.Errorf("without a password for %s: %v", user, err)
		}
	}
}

func TestDefinitionsHoldHashesOnly(t *testing.T) {
	text, err := rabbitmq.Definitions(shop(), passwords())
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Users []struct {
			Name string
			Hash string `json:"password_hash"`
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	for _, u := range d.Users {
		password := passwords()[u.Name]
		hash, err := base64.StdEncoding.DecodeString(u.Hash)
		if err != nil || len(hash) != 36 {
			t.Fatalf("%s: %q, %v", u.Name, u.Hash, err)
		}
		if want := sha256.Sum256(append(slices.Clone(hash[:4]), password...)); !bytes.Equal(hash[4:], want[:]) {
			t.Errorf("%s: the hash is not of the password", u.Name)
		}
		if strings.Contains(string(text), password) {
			t.Errorf("%s: the password itself is in the file", u.Name)
		}
		hashes[u.Hash] = true
	}
	if len(hashes) != len(passwords()) {
		t.Errorf("%d users have %d hashes", len(passwords()), len(hashes))
	}
}

// What one service publishes no other does, and someone consumes it.
func TestEveryEventHasOnePublisher(t *testing.T) {
	text, err := rabbitmq.Definitions(shop(), passwords())
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Keys []struct{ User, Exchange, Write string } `json:"topic_permissions"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	publishers := map[string]int{}
	for _, k := range d.Keys {
		if k.Exchange == messagingtest.Shop().EventsExchange() && k.Write != "^$" {
			for e := range strings.SplitSeq(strings.Trim(k.Write, "^()$"), "|") {
				publishers[e]++
			}
		}
	}
	consumed := map[string]int{}
	for _, b := range topology().Bindings {
		if b.Exchange == messagingtest.Shop().EventsExchange() {
			consumed[b.Key] = 1
		}
	}
	if !maps.Equal(publishers, consumed) {
		t.Errorf("published %v, consumed %v", publishers, consumed)
	}
}

// defined is a broker that has loaded the definitions.
func defined(t *testing.T) *fixture {
	f := newFixture(t)
	text, err := rabbitmq.Definitions(shop(), passwords())
	if err != nil {
		f.Fatal(err)
	}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, f.server.ManagementURL+"/api/definitions", bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusCreated {
		f.Fatalf("load the definitions: %s", resp.Status)
	}
	f.url = f.server.URL // the definitions are of the vhost /
	return f
}

// as is the broker's URL for one of the defined users.
func as(t *testing.T, broker, user, password string) string {
	t.Helper()
	u, err := neturl.Parse(broker)
	if err != nil {
		t.Fatal(err)
	}
	u.User = neturl.UserPassword(user, password)
	return u.String()
}

// What is loaded is what the services would declare: RabbitMQ takes both.
func TestDefinitionsAreTheTopology(t *testing.T) {
	f := defined(t)
	b := open(f.T, f.url, rabbitmq.Options{})
	if err := b.Declare(f.ctx, topology(), messaging.TopologyDeclare); err != nil {
		f.Error(err)
	}
}

// Each service has the rights that its part in the saga takes, and the
// definitions spare it from declaring.
func TestServicesMayDoTheirPart(t *testing.T) {
	f := defined(t)
	type send struct{ exchange, key string }
	for user, sends := range map[string][]send{
		messagingtest.Orders: {
			{messagingtest.Shop().EventsExchange(), "OrderPlaced"},
			{messagingtest.Shop().RetryExchange(), "3600000ms.orders.ItemRefused"},
			{messagingtest.Shop().DeadExchange(), "orders.PaymentRefused"},
		},
		messagingtest.Stock: {
			{messagingtest.Shop().EventsExchange(), "ItemReserved"},
			{messagingtest.Shop().EventsExchange(), "ItemRefused"},
			{messagingtest.Shop().EventsExchange(), "ItemReturned"},
			{messagingtest.Shop().RetryExchange(), "3600000ms.stock.OrderPlaced"},
			{messagingtest.Shop().DeadExchange(), "stock.PaymentRefused"},
		},
		messagingtest.Billing: {
			{messagingtest.Shop().EventsExchange(), "PaymentTaken"},
			{messagingtest.Shop().EventsExchange(), "PaymentRefused"},
			{messagingtest.Shop().RetryExchange(), "3600000ms.billing.ItemReserved"},
			{messagingtest.Shop().DeadExchange(), "billing.ItemReserved"},
		},
	} {
		b := open(f.T, as(f.T, f.url, user, passwords()[user]), rabbitmq.Options{})
		if err := b.Declare(f.ctx, topology(), messaging.TopologyCheck); err != nil {
			f.Errorf("%s: check the topology: %v", user, err)
		}
		for _, s := range sends {
			if err := b.Publish(f.ctx, s.exchange, s.key, message(user)); err != nil {
				f.Errorf("%s: %v", user, err)
			}
		}
	}
	f.consumesAll()
}

// consumesAll has every service take the messages that wait in its work queues.
func (f *fixture) consumesAll() {
	f.Helper()
	taken := make(chan string, 100)
	stop := make(chan struct{})
	var consuming sync.WaitGroup
	for _, queue := range messagingtest.Shop().WorkQueues() {
		user, _, _ := strings.Cut(queue, ".")
		b := open(f.T, as(f.T, f.url, user, passwords()[user]), rabbitmq.Options{})
		consuming.Go(func() {
			err := b.Consume(f.ctx, messaging.Subscription{Queue: queue, Stop: stop, Handle: func(_ context.Context, d *messaging.Delivery) {
				if err := d.Settler.Ack(); err != nil {
					f.Errorf("%s: %v", queue, err)
				}
				taken <- queue
			}})
			if err != nil {
				f.Errorf("%s: %v", queue, err)
			}
		})
	}
	for got := map[string]bool{}; len(got) < len(messagingtest.Shop().WorkQueues()); {
		got[receive(f, taken, "messages from all work queues")] = true
	}
	close(stop)
	consuming.Wait()
}

// A message that the broker itself parks is not lost for want of anyone's rights.
func TestBrokerParksWithoutRights(t *testing.T) {
	f := defined(t)
	channel := f.channel()
	if _, err := channel.QueuePurge(queue, false); err != nil {
		f.Fatal(err)
	}
	if _, err := channel.QueuePurge(messaging.DeadQueue(queue), false); err != nil {
		f.Fatal(err)
	}
	booking := open(f.T, as(f.T, f.url, messagingtest.Orders, passwords()[messagingtest.Orders]), rabbitmq.Options{})
	f.publish(booking, "parked")
	seats := dial(f.T, as(f.T, f.url, messagingtest.Stock, passwords()[messagingtest.Stock]))
	for range messaging.WorkDeliveryLimit + 1 {
		f.reject(seats)
	}
	b := open(f.T, f.url, rabbitmq.Options{})
	for found := false; !found; {
		err := b.Browse(f.ctx, messaging.DeadQueue(queue), func(_ context.Context, m messaging.Message) (bool, error) {
			found = found || m.ID == "parked"
			return false, nil
		})
		if err != nil && !errors.Is(err, messaging.ErrHeld) {
			f.Fatal(err)
		}
	}
}
