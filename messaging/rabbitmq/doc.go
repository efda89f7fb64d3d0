// Package rabbitmq is the [messaging.Broker] on RabbitMQ 3.10 to 4.3, and the
// only importer of amqp091-go. It guarantees:
//
//   - Publish returns nil only for a message that the broker confirmed and did
//     not return. Everything else is an error, [messaging.ErrUnroutable] or
//     unknown. At most a window of messages waits for confirms at a time.
//   - A delivery can only be settled on the channel that delivered it. After
//     its session is lost, Ack is an error and reaches nothing.
//   - Connections, channels and consumers come back by themselves, for ever;
//     the topology is declared again before anything uses them.
//   - Every call returns when its context ends, and Close when its context does,
//     also under a memory alarm, with a hung peer, or with no broker at all.
//     In the end the socket is cut.
//   - Passwords appear in no error and no log line.
//
// Publishing and consuming have a connection each, because an alarm stops the
// broker from reading a connection that publishes, acknowledgements included.
// The client's own recovery is off: a late ack of a delivery from before the
// loss reached another message there.
package rabbitmq
