package rabbitmq_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"boxoffice/messaging/messagingtest"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
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
		if _, err := rabbitmq.Definitions(rabbitmqtest.Shop(), p); err == nil || !strings.Contains(err.Error(), user) {
			t.Errorf("without a password for %s: %v", user, err)
		}
	}
}

func TestDefinitionsHoldHashesOnly(t *testing.T) {
	text, err := rabbitmq.Definitions(rabbitmqtest.Shop(), passwords())
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
	text, err := rabbitmq.Definitions(rabbitmqtest.Shop(), passwords())
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
	for _, b := range rabbitmqtest.Topology().Bindings {
		if b.Exchange == messagingtest.Shop().EventsExchange() {
			consumed[b.Key] = 1
		}
	}
	if !maps.Equal(publishers, consumed) {
		t.Errorf("published %v, consumed %v", publishers, consumed)
	}
}
