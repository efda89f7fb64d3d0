package rabbitmq

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"boxoffice/messaging"
)

// Definitions returns a system's topology with its users as a definitions file,
// which RabbitMQ loads when it boots: services that connect as these users need
// no right to declare anything. Each of [Users] must have a password.
//
// The same input gives the same bytes, so that a file can be compared.
func Definitions(s messaging.System, passwords map[string]string) ([]byte, error) {
	t := s.Topology()
	const vhost = "/"
	d := definitions{VHosts: []definedVHost{{vhost}}}
	for _, name := range Users(s) {
		if passwords[name] == "" {
			return nil, fmt.Errorf("the broker's user %s has no password", name)
		}
		r := rightsOf(name, s)
		d.Users = append(d.Users, definedUser{
			Name: name, PasswordHash: passwordHash(name, passwords[name]),
			HashingAlgorithm: "rabbit_password_hashing_sha256", Tags: r.tags,
		})
		d.Permissions = append(d.Permissions, definedPermission{name, vhost, r.configure, r.write, r.read})
		for _, k := range r.keys {
			d.TopicPermissions = append(d.TopicPermissions, definedTopicPermission{name, vhost, k.exchange, k.write, k.read})
		}
	}
	for _, name := range t.Exchanges {
		d.Exchanges = append(d.Exchanges, definedExchange{Name: name, VHost: vhost, Type: "topic", Durable: true, Arguments: map[string]any{}})
	}
	for _, q := range t.Queues {
		d.Queues = append(d.Queues, definedQueue{Name: q.Name, VHost: vhost, Durable: true, Arguments: arguments(q)})
	}
	for _, b := range t.Bindings {
		d.Bindings = append(d.Bindings, definedBinding{
			Source: b.Exchange, VHost: vhost, Destination: b.Queue, DestinationType: "queue", RoutingKey: b.Key, Arguments: map[string]any{},
		})
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the definitions: %w", err)
	}
	return append(text, '\n'), nil
}

// passwordHash is a password as RabbitMQ keeps it: four bytes of salt before
// the SHA-256 of both. The salt follows from the user and the password, else
// no two files would be the same; no two users have the same hash even so.
func passwordHash(user, password string) string {
	salt := sha256.Sum256([]byte(user + "\x00" + password))
	hash := sha256.Sum256(append(salt[:4:4], password...))
	return base64.StdEncoding.EncodeToString(append(salt[:4:4], hash[:]...))
}

// The parts of a definitions file, as the broker exports them.
type (
	definitions struct {
		Users            []definedUser            `json:"users"`
		VHosts           []definedVHost           `json:"vhosts"`
		Permissions      []definedPermission      `json:"permissions"`
		TopicPermissions []definedTopicPermission `json:"topic_permissions"`
		Exchanges        []definedExchange        `json:"exchanges"`
		Queues           []definedQueue           `json:"queues"`
		Bindings         []definedBinding         `json:"bindings"`
	}
	definedUser struct {
		Name             string   `json:"name"`
		PasswordHash     string   `json:"password_hash"`
		HashingAlgorithm string   `json:"hashing_algorithm"`
		Tags             []string `json:"tags"`
	}
	definedVHost struct {
		Name string `json:"name"`
	}
	definedPermission struct {
		User      string `json:"user"`
		VHost     string `json:"vhost"`
		Configure string `json:"configure"`
		Write     string `json:"write"`
		Read      string `json:"read"`
	}
	definedTopicPermission struct {
		User     string `json:"user"`
		VHost    string `json:"vhost"`
		Exchange string `json:"exchange"`
		Write    string `json:"write"`
		Read     string `json:"read"`
	}
	definedExchange struct {
		Name       string         `json:"name"`
		VHost      string         `json:"vhost"`
		Type       string         `json:"type"`
		Durable    bool           `json:"durable"`
		AutoDelete bool           `json:"auto_delete"`
		Internal   bool           `json:"internal"`
		Arguments  map[string]any `json:"arguments"`
	}
	definedQueue struct {
		Name       string         `json:"name"`
		VHost      string         `json:"vhost"`
		Durable    bool           `json:"durable"`
		AutoDelete bool           `json:"auto_delete"`
		Arguments  map[string]any `json:"arguments"`
	}
	definedBinding struct {
		Source          string         `json:"source"`
		VHost           string         `json:"vhost"`
		Destination     string         `json:"destination"`
		DestinationType string         `json:"destination_type"`
		RoutingKey      string         `json:"routing_key"`
		Arguments       map[string]any `json:"arguments"`
	}
)
