package rabbitmq

import (
	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
)

// HeaderFrame is what is reckoned for the frame with m's headers, and
// Publishing what is sent.
func HeaderFrame(m messaging.Message) (int, amqp.Publishing, error) {
	out, err := newOutgoing("x", "k", m)
	if err != nil {
		return 0, amqp.Publishing{}, err
	}
	return out.header, out.message, nil
}
