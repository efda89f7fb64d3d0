package messaging_test

import (
	"testing"

	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/messaging/rabbitmq/rabbitmqtest"
)

// The example runs on RabbitMQ as on the embedded broker: it returns once the
// stock is returned.
func TestTheExampleOnRabbitMQ(t *testing.T) {
	f := rabbitmqtest.New(t, rabbitmqtest.Given(t))
	brokers := map[string]messaging.Broker{}
	for _, s := range shop().Services {
		brokers[s.Name] = rabbitmqtest.Open(t, f.URL, rabbitmq.Options{Name: s.Name})
	}
	if err := sell(f.Ctx, func(service string) messaging.Broker { return brokers[service] }); err != nil {
		t.Fatal(err)
	}
}
